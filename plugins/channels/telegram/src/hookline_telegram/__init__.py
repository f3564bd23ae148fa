"""Hookline plugin ``telegram``: people talk to the agent on Telegram.

Reached by the entry point ``hookline_telegram:Telegram``. :mod:`.client` is the connection that
``hookline_channelkit`` drives, :mod:`.api` what is asked of the Bot API and how its refusals are
understood, :mod:`.receiving` what becomes of an update, :mod:`.reading` what it says, and
:mod:`.renderer` the dialect of its texts.
"""

from __future__ import annotations

from .config import TelegramConfig
from .plugin import Telegram

__all__ = ["Telegram", "TelegramConfig"]
