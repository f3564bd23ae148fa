"""The plugin ``slack``: its settings and its client, :class:`.SlackClient`."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import SlackConfig


class Slack(ChannelPlugin[SlackConfig]):
    """Slack as a channel."""

    multiple = True
    client = "hookline_slack.client:SlackClient"
