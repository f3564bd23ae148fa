"""The plugin: brings the channel."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin, Wire

from .config import FeishuConfig, account_of, fault_of


class Feishu(ChannelPlugin[FeishuConfig]):
    """Feishu and Lark as a channel."""

    multiple = True

    def make_wire(self) -> Wire:
        """The wire to Feishu."""
        from .wire import FeishuWire

        return FeishuWire(self.config, self.host)

    def fault(self) -> str | None:
        """What is wrong with the account's settings."""
        return fault_of(*account_of(self.config, self.host))
