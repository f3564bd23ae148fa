"""The plugin: registers the channel, and its checks for ``hookline doctor``."""

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
        """Create the channel; the gateway starts it."""
        self.channel = WebhookChannel(self.config, host)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close the channel."""
        if self.channel is not None:
            await self.channel.aclose()

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """Register the channel ``webhook``."""
        if self.channel is not None:
            register(self.channel)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register ``POST /webhook`` with ``web-server`` if the channel has no listener."""
        if self.channel is not None and self.config.listen is None:
            size = self.config.max_bytes
            register(Route("POST", "/", self.channel.endpoint, auth="none", max_bytes=size))

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register checks of the secret, ``reply_url``, the address and access control."""
        register(Check("secret", self._secret))
        register(Check("replies", self._replies))
        register(Check("address", self._address))
        register(Check("access", self._access))

    def _secret(self) -> CheckResult:
        error = self.config.secret_error()
        if error is None:
            return CheckResult(True, "the secret is long enough")
        problem, _, fix = error.partition("; ")
        return CheckResult(False, problem, fix)

    def _replies(self) -> CheckResult:
        if self.config.reply_url is not None:
            return CheckResult(True, f"replies go to {self.config.reply_url}")
        return CheckResult(
            False,
            "webhook.reply_url is not set, so replies are stored but not sent",
            "set webhook.reply_url if you need the replies",
            hint=True,
        )

    def _address(self) -> CheckResult:
        listen = self.config.listen
        if listen is None:
            return self._shared()
        if is_loopback(parse_address(listen).host):
            return CheckResult(True, f"{listen} can be reached from this machine only")
        return CheckResult(
            False,
            f"{listen} can be reached from other machines, without encryption",
            "listen on 127.0.0.1 behind a proxy with HTTPS",
            hint=True,
        )

    def _shared(self) -> CheckResult:
        server = self.host.services.get(WebServer)
        if server is not None:
            return CheckResult(True, f"the webhook is at {server.url()}/webhook")
        return CheckResult(
            False,
            "webhook.listen is null, but the plugin web-server is off",
            "hookline plugins enable web-server, or set webhook.listen",
        )

    def _access(self) -> CheckResult:
        if self.host.services.get(Access) is not None:
            return CheckResult(True, "access control is on")
        return CheckResult(
            False,
            "no access control: anyone with the secret can write",
            "hookline plugins enable access",
            hint=True,
        )
