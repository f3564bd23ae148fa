"""The plugin: the kit's, with Telegram's settings and wire."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin, Wire

from .config import TelegramConfig, fault_of, token_of


class Telegram(ChannelPlugin[TelegramConfig]):
    """Telegram as a channel."""

    multiple = True

    def make_wire(self) -> Wire:
        """The wire to the Bot API."""
        from .wire import TelegramWire

        return TelegramWire(self.config, self.host)

    def fault(self) -> str | None:
        """What is wrong with the token, as far as it can be seen."""
        return fault_of(token_of(self.config, self.host), self.host.plugin)
