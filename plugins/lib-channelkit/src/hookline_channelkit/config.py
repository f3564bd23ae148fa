"""The settings that every channel has; a channel adds its own to them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class ChannelConfig(BaseModel):
    """How a channel behaves. A subclass adds the account, and may set other defaults."""

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
