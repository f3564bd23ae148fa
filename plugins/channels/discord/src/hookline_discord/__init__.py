"""Hookline plugin ``discord``: people talk to the agent on Discord.

Reached by the entry point ``hookline_discord:Discord``. :mod:`.client` is what
``hookline_channelkit`` drives, :mod:`.connection` the REST API and the gateway, :mod:`.errors` how
Discord's refusals are understood, :mod:`.reading` what events say, :mod:`.renderer` the dialect of
its texts, and :mod:`.facts` what its documents say.
"""

from __future__ import annotations

from .config import DiscordConfig
from .plugin import Discord

__all__ = ["Discord", "DiscordConfig"]
