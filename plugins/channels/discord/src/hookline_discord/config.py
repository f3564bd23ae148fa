"""The settings of the channel."""

from __future__ import annotations

from hookline_channelkit import ChannelConfigWithBots
from pydantic import Field, SecretStr

from .facts import FACTS, TOKEN


class DiscordConfig(ChannelConfigWithBots):
    """The bot, and how it behaves."""

    credentials = (TOKEN,)
    token: SecretStr = TOKEN.field(link=FACTS["portal"], guide=FACTS["guide"])
    api_url: str = Field(
        "https://discord.com/api/v10", description="URL of the API, with its version."
    )
    gateway_url: str | None = Field(
        None, description="URL of the gateway; null = the one that the API names."
    )
    threads: bool = Field(False, description="Start a thread for each conversation in servers.")
