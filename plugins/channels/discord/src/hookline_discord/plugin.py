"""The plugin: the kit's, with Discord's settings and client."""

from __future__ import annotations

from hookline_channelkit import ChannelPlugin

from .config import DiscordConfig


class Discord(ChannelPlugin[DiscordConfig]):
    """Discord as a channel."""

    multiple = True
    client = "hookline_discord.client:DiscordClient"
