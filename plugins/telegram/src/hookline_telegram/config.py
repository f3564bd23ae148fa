"""The settings of the channel, and where its token comes from."""

from __future__ import annotations

import re

from hookline_channelkit import ChannelConfig
from hookline_hookspecs import Host
from pydantic import Field, SecretStr

VARIABLE = "TELEGRAM_BOT_TOKEN"
"""Environment variable (or line of ``.env``) that is read where config has no token."""
_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")


class TelegramConfig(ChannelConfig):
    """The bot, and how it behaves."""

    token: SecretStr = Field(
        default=SecretStr(""),
        description=f"The bot's token, from @BotFather; else the variable {VARIABLE}.",
        json_schema_extra={"env": VARIABLE},
    )
    base_url: str = Field(
        default="https://api.telegram.org/bot", description="The Bot API, up to the token."
    )
    base_file_url: str = Field(
        default="https://api.telegram.org/file/bot", description="Its files, up to the token."
    )
    poll_seconds: int = Field(
        default=20, ge=1, le=50, description="Seconds that a request for updates may stay open."
    )
    max_bytes: int = Field(
        default=20_000_000,
        ge=1,
        le=20_000_000,
        description="The largest file taken; the Bot API gives out no more than 20 MB.",
    )


def token_of(config: TelegramConfig, host: Host) -> str:
    """The token, of config or of the environment; empty without one.

    The variable is that of ``telegram`` alone: another bot, such as ``telegram:work``, has another
    token.
    """
    of_env = host.env.get(VARIABLE, "") if ":" not in host.plugin else ""
    return (config.token.get_secret_value() or of_env).strip()


def fault_of(token: str, plugin: str = "telegram") -> str | None:
    """Why the token of ``plugin`` will not do, as a sentence, or None; it is not tried."""
    if not token and ":" in plugin:
        return (
            f"plugins.{plugin}.token is missing; make a bot with @BotFather, put its token into "
            '.env under a name of its own, and write `token: "${NAME}"`'
        )
    if not token:
        return (
            f"telegram.token is missing; make a bot with @BotFather and put {VARIABLE}=… into .env"
        )
    if _TOKEN.fullmatch(token) is None:
        return (
            "telegram.token is no token, which looks like 123456:ABC-def; copy it from @BotFather "
            f"into .env as {VARIABLE}=…"
        )
    return None
