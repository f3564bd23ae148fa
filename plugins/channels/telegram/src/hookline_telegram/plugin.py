"""The plugin ``telegram``: its settings and its client, :class:`.TelegramClient`."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import TelegramConfig


class Telegram(ChannelPlugin[TelegramConfig]):
    """The Telegram channel."""

    multiple = True
    client = "hookline_telegram.client:TelegramClient"
