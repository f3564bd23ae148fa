"""The plugin: brings the channel, and tells ``hookline doctor`` what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Access, Channel, Check, CheckResult, Host, Plugin, Route, hookimpl
from hookline_hookspecs.web import WebServer
from hookline_webkit.address import is_loopback, parse_address

from .channel import WebhookChannel
from .config import WebhookConfig


class Webhook(Plugin[WebhookConfig]):
    """A signed channel over HTTP."""

    def __init__(self, config: WebhookConfig, host: Host) -> None:
        super().__init__(config, host)
        self.channel: WebhookChannel | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Make the channel; the gateway starts it."""
        self.channel = WebhookChannel(self.config, host)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close what is open."""
        if self.channel is not None:
            await self.channel.aclose()

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel ``webhook``."""
        if self.channel is not None:
            register(self.channel)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """``POST /webhook`` on the listener of ``web-server``, where there is none of its own."""
        if self.channel is not None and self.config.listen is None:
            size = self.config.max_bytes
            register(Route("POST", "/", self.channel.endpoint, auth="none", max_bytes=size))

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The secret, where replies go, who can reach it, and who decides who may write."""
        register(Check("secret", self._secret))
        register(Check("replies", self._replies))
        register(Check("address", self._address))
        register(Check("access", self._access))

    def _secret(self) -> CheckResult:
        fault = self.config.secret_fault()
        if fault is None:
            return CheckResult(True, "the secret is long enough")
        problem, _, fix = fault.partition("; ")
        return CheckResult(False, problem, fix)

    def _replies(self) -> CheckResult:
        if self.config.reply_url is not None:
            return CheckResult(True, f"replies go to {self.config.reply_url}")
        return CheckResult(
            False,
            "webhook.reply_url is not set, so replies stay in the session and reach nobody",
            "set webhook.reply_url, or leave it so where only what the agent does counts",
            hint=True,
        )

    def _address(self) -> CheckResult:
        listen = self.config.listen
        if listen is None:
            return self._shared()
        if is_loopback(parse_address(listen).host):
            return CheckResult(True, f"{listen} is reached from this machine alone")
        return CheckResult(
            False,
            f"{listen} can be reached from other machines, without encryption",
            "listen on 127.0.0.1 behind a proxy that speaks HTTPS",
            hint=True,
        )

    def _shared(self) -> CheckResult:
        server = self.host.services.get(WebServer)
        if server is not None:
            return CheckResult(True, f"bodies are taken at {server.url()}/webhook")
        return CheckResult(
            False,
            "webhook.listen is null, and plugin web-server, which would listen, is not on",
            "hookline plugins enable web-server, or set webhook.listen",
        )

    def _access(self) -> CheckResult:
        if self.host.services.get(Access) is not None:
            return CheckResult(True, "a plugin decides who may write")
        return CheckResult(
            False,
            "no plugin decides who may write; whoever knows the secret, may",
            "hookline plugins enable access",
            hint=True,
        )
