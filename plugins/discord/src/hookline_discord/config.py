"""The settings of the channel, and where its token comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

from hookline_channelkit import ChannelConfig
from hookline_hookspecs import Host
from pydantic import Field, SecretStr

from .facts import FACTS

VARIABLE = "DISCORD_BOT_TOKEN"
"""Environment variable (or line of ``.env``) that is read where config has no token."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{18,40}\.[A-Za-z0-9_-]{4,12}\.[A-Za-z0-9_-]{20,60}")


class DiscordConfig(ChannelConfig):
    """The bot, and how it behaves."""

    token: SecretStr = Field(
        default=SecretStr(""),
        description="The bot's token, from the page Bot of its application.",
        json_schema_extra={"env": VARIABLE, "link": FACTS["portal"], "guide": FACTS["guide"]},
    )
    api_url: str = Field("https://discord.com/api/v10", description="The API, with its version.")
    gateway_url: str | None = Field(None, description="The gateway; null: what the API tells.")
    bots: Literal["none", "mentions"] = Field(
        "none", description="Other bots: not heard, or heard where they mention this one."
    )
    bot_messages: int = Field(10, ge=1, description="Messages an hour of a bot in a chat.")
    threads: bool = Field(False, description="In servers, begin a thread for each conversation.")


def token_of(config: DiscordConfig, host: Host) -> str:
    """The token, of config or of the environment; empty without one."""
    env: Mapping[str, str] = getattr(host, "env", os.environ)
    return (config.token.get_secret_value() or env.get(VARIABLE, "")).strip()


def fault_of(token: str) -> str | None:
    """Why the token will not do, as a sentence, or None; it is not tried."""
    told: str = FACTS["bad_token" if token else "missing_token"]
    return None if _TOKEN.fullmatch(token) else told
