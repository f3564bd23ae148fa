"""The plugin ``feishu``: its settings and its client, :class:`.FeishuClient`."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import FeishuConfig


class Feishu(ChannelPlugin[FeishuConfig]):
    """Feishu and Lark as a channel."""

    multiple = True
    client = "hookline_feishu.client:FeishuClient"
