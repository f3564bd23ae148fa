"""The settings of the channel."""

from __future__ import annotations

from hookline_channelkit import ChannelConfigWithBots
from pydantic import Field, SecretStr

from .facts import FACTS, TOKEN


class DiscordConfig(ChannelConfigWithBots):
    """The bot, and how it behaves."""

    credentials = (TOKEN,)
    token: SecretStr = TOKEN.field(
        title="Bot token",
        description=(
            "The token, from the page Bot of https://discord.com/developers/applications; "
            "default: $DISCORD_BOT_TOKEN."
        ),
        link=FACTS["portal"],
        guide=FACTS["guide"],
    )
    api_url: str = Field(
        "https://discord.com/api/v10",
        title="API address",
        description="Address of the Discord API, including its version.",
    )
    gateway_url: str | None = Field(
        None,
        title="Gateway address",
        description="Address of Discord's gateway; leave empty to ask the API.",
    )
    threads: bool = Field(
        False,
        title="A thread for each conversation",
        description="On servers, start a thread for each conversation.",
    )
