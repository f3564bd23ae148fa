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
        "https://discord.com/api/v10",
        description="Address of the Discord API, including its version.",
    )
    gateway_url: str | None = Field(
        None, description="Address of Discord's gateway; leave empty to ask the API."
    )
    threads: bool = Field(False, description="On servers, start a thread for each conversation.")
