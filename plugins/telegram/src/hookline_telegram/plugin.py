"""The plugin: brings the channel, and lets ``hookline doctor`` try the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Channel, Check, CheckResult, Context, Host, Inbound, Plugin, hookimpl

from .config import TelegramConfig

if TYPE_CHECKING:
    from .channel import TelegramChannel


class Telegram(Plugin[TelegramConfig]):
    """Telegram as a channel."""

    def __init__(self, config: TelegramConfig, host: Host) -> None:
        super().__init__(config, host)
        self.channel: TelegramChannel | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Make the channel; the gateway starts it."""
        from .channel import TelegramChannel

        self.channel = TelegramChannel(self.config, host)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close what is open."""
        if self.channel is not None:
            await self.channel.aclose()

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """The channel ``telegram``."""
        if self.channel is not None:
            register(self.channel)

    @hookimpl(trylast=True)
    def on_message(self, ctx: Context, inbound: Inbound) -> None:
        """Hear of messages that nobody has refused; nothing is refused or changed."""
        if self.channel is not None and inbound.channel == self.channel.name:
            self.channel.passed(inbound)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """That Telegram knows the token."""
        register(Check("token", self._token))

    async def _token(self, offline: bool = False) -> CheckResult:
        from .checking import token_check

        return await token_check(self.config, self.host, offline=offline)
