"""The settings of the channel, and its constants (``facts.json``)."""

from __future__ import annotations

from hookline_channelkit import ChannelConfig, Credential, package_data
from pydantic import Field, SecretStr

FACTS = package_data(__package__)
"""``errors`` are parts of a description of status 400, in lower case."""
TOKEN = Credential(**FACTS["token"])


class TelegramConfig(ChannelConfig):
    """The settings of the channel."""

    credentials = (TOKEN,)
    token: SecretStr = TOKEN.field(
        title="Bot token", description="The token, from @BotFather; default: $TELEGRAM_BOT_TOKEN."
    )
    base_url: str = Field(
        default="https://api.telegram.org/bot",
        title="API address",
        description="Address of the Bot API, up to the token.",
    )
    base_file_url: str = Field(
        default="https://api.telegram.org/file/bot",
        title="File address",
        description="Address of the Bot API's files, up to the token.",
    )
    poll_seconds: int = Field(
        default=20,
        ge=1,
        le=50,
        title="Polling time (seconds)",
        description="Seconds that a request for updates may stay open.",
    )
    max_bytes: int = Field(
        default=20_000_000,
        ge=1,
        le=20_000_000,
        title="Received file size (bytes)",
        description="Maximum size of a received file; the Bot API allows 20 MB.",
    )
