"""The plugin: the kit's, with Telegram's settings and wire."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import TelegramConfig


class Telegram(ChannelPlugin[TelegramConfig]):
    """Telegram as a channel."""

    multiple = True
    wire = "hookline_telegram.wire:TelegramWire"
