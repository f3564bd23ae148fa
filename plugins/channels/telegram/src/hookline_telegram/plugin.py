"""The plugin: the kit's, with Telegram's settings and client."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import TelegramConfig


class Telegram(ChannelPlugin[TelegramConfig]):
    """Telegram as a channel."""

    multiple = True
    client = "hookline_telegram.client:TelegramClient"
