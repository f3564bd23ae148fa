"""The settings that every channel has; a channel adds its own to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from hookline_hookspecs import Host
from pydantic import BaseModel, Field

from .credentials import Credential


class ChannelConfig(BaseModel):
    """How a channel behaves. A subclass adds the account, and may set other defaults."""

    credentials: ClassVar[tuple[Credential, ...]] = ()
    """What the account is made of; each has a field of its name."""

    stream: bool = Field(default=True, description="Show a running answer by editing a message.")
    edit_every: float = Field(
        default=1.5, ge=0.2, description="Seconds between two edits of a message at least."
    )
    groups: Literal["mention", "always"] = Field(
        default="mention",
        description="In groups, answer what is addressed to the bot, or everything it sees.",
    )
    commands: dict[str, str] | None = Field(
        default=None, description="The menu: command and help; null: the usual ones; {}: no change."
    )
    max_bytes: int = Field(default=20_000_000, ge=1, description="The largest file taken.")
    keep_days: float | None = Field(
        default=30.0, gt=0, description="Days that files of messages are kept; null: for ever."
    )

    def account(self, host: Host) -> Mapping[str, str]:
        """The credentials by name, of config or of the environment; empty ones are missing."""
        return {one.name: one.value(self, host) for one in self.credentials}

    def account_fault(self, host: Host) -> str | None:
        """What is wrong with them, as ``PROBLEM; WHAT TO DO``, or None; they are not tried."""
        given = self.account(host)
        faults = (one.fault(given[one.name], host.plugin) for one in self.credentials)
        return next(filter(None, faults), None)


class WithBots(ChannelConfig):
    """The settings of a channel in whose groups other bots write."""

    bots: Literal["none", "mentions"] = Field(
        default="none", description="Other bots: not heard, or where they mention this one."
    )
    bot_messages: int = Field(
        default=10, ge=1, description="Messages an hour of a bot in a chat that are heard."
    )
