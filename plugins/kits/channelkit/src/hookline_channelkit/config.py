"""The settings that every channel has, and the credentials of its account."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hookline_hookspecs import Host
from pydantic import BaseModel, Field, SecretStr


@dataclass(frozen=True, slots=True)
class Credential:
    """Something that identifies the bot to the platform: a token, a secret, an app id.

    The settings have a field of its name. Its texts are parts of sentences.

    Args:
        name: the field.
        env_var: the environment variable, or line of ``.env``, that is read if config has no value.
            Only the first bot of a kind uses it; another, such as ``telegram:work``, names its own
            variable in config.
        pattern: a regular expression that matches all of a valid value.
        label: its designation: ``token``.
        format_hint: its format, after "it": ``looks like 123456:ABC-def``.
        create_hint: how to get one: ``create a bot with @BotFather``.
        source: where to copy it from: ``@BotFather``.
    """

    name: str
    env_var: str
    pattern: str
    label: str
    format_hint: str
    create_hint: str
    source: str

    def field(
        self,
        default: Any = SecretStr(""),  # noqa: B008
        *,
        title: str = "",
        description: str = "",
        **extra: Any,
    ) -> Any:
        """Return the field of the settings.

        ``title`` and ``description`` are made from the texts above; given as literals, they are
        translated too. ``extra`` is for ``hookline init``: ``guide``, ``link``, and ``ask`` for a
        value that is not secret.
        """
        title = title or f"{self.label[:1].upper()}{self.label[1:]}"
        about = f"The {self.label}, from {self.source}; default: ${self.env_var}."
        extra = {"env": self.env_var, **extra}
        return Field(
            default=default, title=title, description=description or about, json_schema_extra=extra
        )

    def value(self, config: BaseModel, host: Host) -> str:
        """Return the value from config, else from the environment; empty if there is none."""
        configured = getattr(config, self.name)
        if isinstance(configured, SecretStr):
            configured = configured.get_secret_value()
        from_env = host.env.get(self.env_var, "") if ":" not in host.plugin else ""
        return (str(configured) or from_env).strip()

    def rejected(self, platform: str) -> str:
        """Return the error for a rejected value, as ``PROBLEM; WHAT TO DO``."""
        plugin = self.env_var.partition("_")[0].casefold()
        return (
            f"{platform} rejected {plugin}.{self.name}; copy it again from {self.source} and set "
            f"{self.env_var}=… in .env"
        )

    def problem(self, value: str, plugin: str) -> str | None:
        """Return a problem of ``value`` as ``PROBLEM; WHAT TO DO``, or None. It is not tried."""
        if re.fullmatch(self.pattern, value):
            return None
        is_first = ":" not in plugin
        where = f"{plugin}.{self.name}" if is_first else f"plugins.{plugin}.{self.name}"
        what = f"is not a valid {self.label} (it {self.format_hint})" if value else "is missing"
        fix = f"copy it from {self.source}" if value else self.create_hint
        if is_first:
            return f"{where} {what}; {fix} and set {self.env_var}=… in .env"
        return f'{where} {what}; {fix}, set NAME=… in .env and `{self.name}: "${{NAME}}"` in config'


class ChannelConfig(BaseModel):
    """Settings of every channel. A subclass adds the account, and may change defaults."""

    credentials: ClassVar[tuple[Credential, ...]] = ()
    """The credentials of the account; each has a field of its name."""

    stream: bool = Field(
        default=True,
        title="Show answers as they are written",
        description="Show answers while they are written, by editing a message.",
    )
    edit_every: float = Field(
        default=1.5,
        ge=0.2,
        title="Edit interval (seconds)",
        description="Minimum seconds between two edits of a message.",
    )
    groups: Literal["mention", "always"] = Field(
        default="mention",
        title="Answers in groups",
        description="In groups, answer only messages addressed to the bot, or all that it sees.",
    )
    commands: dict[str, str] | None = Field(
        default=None,
        title="Command menu",
        description=(
            "The command menu, as names with descriptions; null: the usual commands; {}: leave it "
            "unchanged."
        ),
    )
    max_bytes: int = Field(
        default=20_000_000,
        ge=1,
        title="Received file size (bytes)",
        description="Maximum size of a received file.",
    )
    keep_days: float | None = Field(
        default=30.0,
        gt=0,
        title="Keep received files (days)",
        description="Days that received files are kept; null: forever.",
    )

    def account(self, host: Host) -> Mapping[str, str]:
        """Return the credentials by name, from config or the environment; empty if missing."""
        return {known.name: known.value(self, host) for known in self.credentials}

    def account_problem(self, host: Host) -> str | None:
        """Return a problem of the credentials as ``PROBLEM; WHAT TO DO``, or None."""
        values = self.account(host)
        problems = (one.problem(values[one.name], host.plugin) for one in self.credentials)
        return next(filter(None, problems), None)


class ChannelConfigWithBots(ChannelConfig):
    """The settings of a channel whose groups may have other bots."""

    bots: Literal["none", "mentions"] = Field(
        default="none",
        title="Messages from other bots",
        description="Messages from other bots: accept none, or those that mention this bot.",
    )
    bot_messages: int = Field(
        default=10,
        ge=1,
        title="Messages per bot and hour",
        description="Maximum messages per hour from one bot in one chat.",
    )
