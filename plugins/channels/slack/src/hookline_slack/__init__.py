"""Hookline plugin ``slack``: people talk to the agent on Slack.

Reached by the entry point ``hookline_slack:Slack``. :mod:`.client` is the connection that
``hookline_channelkit`` drives, :mod:`.api` what is asked of the Web API and how its refusals are
understood, :mod:`.sockets` what receives, :mod:`.reading` what an event says, :mod:`.hearing` whom
it is for, and :mod:`.blocks` what a message is made of.
"""

from __future__ import annotations

from .config import SlackConfig
from .plugin import Slack

__all__ = ["Slack", "SlackConfig"]
