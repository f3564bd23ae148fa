"""The plugin: the kit's, with Feishu's settings and wire."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import FeishuConfig


class Feishu(ChannelPlugin[FeishuConfig]):
    """Feishu and Lark as a channel."""

    multiple = True
    wire = "hookline_feishu.wire:FeishuWire"
