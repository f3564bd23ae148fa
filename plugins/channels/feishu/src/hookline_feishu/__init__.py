"""Hookline plugin ``feishu``: Feishu and Lark as a channel.

Reached by the entry point ``hookline_feishu:Feishu``. :mod:`.client` is what
``hookline_channelkit`` drives, :mod:`.api` calls the REST API and classifies its errors,
:mod:`.socket` is the long connection, :mod:`.receiver` decides which messages are for the bot,
:mod:`.events` parses events, :mod:`.renderer` makes posts and cards, and :mod:`.cards` updates
cards. Shared by all platforms, such as splitting long messages: the kit.
"""

from __future__ import annotations

from .config import FeishuConfig
from .plugin import Feishu

__all__ = ["Feishu", "FeishuConfig"]
