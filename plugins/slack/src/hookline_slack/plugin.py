"""The plugin: its settings and its wire; the rest is the kit's."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin, Wire

from .config import VARIABLES, SlackConfig, fault_of, token_of


class Slack(ChannelPlugin[SlackConfig]):
    """Slack as a channel."""

    multiple = True

    def make_wire(self) -> Wire:
        """The wire; the libraries are imported when Slack is first asked."""
        from .wire import SlackWire

        return SlackWire(self.config, self.host)

    def fault(self) -> str | None:
        """A token that is missing, or none."""
        faults = (fault_of(one, token_of(self.config, self.host, one)) for one in VARIABLES)
        return next(filter(None, faults), None)
