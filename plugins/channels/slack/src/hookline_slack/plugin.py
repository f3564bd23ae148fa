"""The plugin: the kit's, with Slack's settings and wire."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import SlackConfig


class Slack(ChannelPlugin[SlackConfig]):
    """Slack as a channel."""

    multiple = True
    wire = "hookline_slack.wire:SlackWire"
