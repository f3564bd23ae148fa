"""Hookline plugin ``slack``: Slack as a channel.

Reached by the entry point ``hookline_slack:Slack``. :mod:`.client` is what ``hookline_channelkit``
drives, :mod:`.api` calls the Web API and classifies its errors, :mod:`.socket` has the websockets,
:mod:`.receiver` decides which messages are for the bot, :mod:`.events` parses events, and
:mod:`.renderer` renders texts and blocks. Shared by all platforms, such as splitting long messages:
the kit.
"""

from __future__ import annotations

from .config import SlackConfig
from .plugin import Slack

__all__ = ["Slack", "SlackConfig"]
