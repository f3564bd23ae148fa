"""The plugin: what of a channel is Discord's alone."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin, Wire

from .config import DiscordConfig, fault_of, token_of


class Discord(ChannelPlugin[DiscordConfig]):
    """Discord as a channel."""

    multiple = True

    def make_wire(self) -> Wire:
        """The wire to Discord."""
        from .wire import DiscordWire

        return DiscordWire(self.config, self.host)

    def fault(self) -> str | None:
        """What is wrong with the token, as far as it can be seen."""
        return fault_of(token_of(self.config, self.host))
