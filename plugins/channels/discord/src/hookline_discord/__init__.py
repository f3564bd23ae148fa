"""Hookline plugin ``discord``: Discord as a channel.

Reached by the entry point ``hookline_discord:Discord``. :mod:`.client` is what
``hookline_channelkit`` drives, :mod:`.connection` the REST API and the gateway's websocket,
:mod:`.errors` classifies errors, :mod:`.receiver` parses events and decides which are for the bot,
:mod:`.renderer` renders texts, and :mod:`.facts` has Discord's constants. Shared by all platforms,
such as splitting long messages: the kit.
"""

from __future__ import annotations

from .config import DiscordConfig
from .plugin import Discord

__all__ = ["Discord", "DiscordConfig"]
