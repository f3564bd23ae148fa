"""Hookline plugin ``telegram``: Telegram as a channel.

Reached by the entry point ``hookline_telegram:Telegram``. :mod:`.client` is what
``hookline_channelkit`` drives, :mod:`.api` calls the Bot API and classifies its errors,
:mod:`.receiver` polls and decides which messages are for the bot, :mod:`.events` parses updates,
and :mod:`.renderer` renders texts. Shared by all platforms, such as splitting long messages: the
kit.
"""

from __future__ import annotations

from .config import TelegramConfig
from .plugin import Telegram

__all__ = ["Telegram", "TelegramConfig"]
