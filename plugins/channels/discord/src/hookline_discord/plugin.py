"""The plugin ``discord``: its settings and its client, :class:`.DiscordClient`."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import DiscordConfig


class Discord(ChannelPlugin[DiscordConfig]):
    """The Discord channel."""

    multiple = True
    client = "hookline_discord.client:DiscordClient"
