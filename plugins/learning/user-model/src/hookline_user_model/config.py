"""The settings of the plugin, under ``plugins: user-model:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class UserModelConfig(BaseModel):
    """How long a profile may be, and how many messages it is made from. Sizes are code points."""

    max_chars: int = Field(
        1_500, ge=100, title="USER.md (characters)", description="Maximum characters of USER.md."
    )
    versions: int = Field(
        20,
        ge=1,
        title="Versions per profile",
        description="Previous versions kept of each profile.",
    )
    signal_messages: int = Field(
        40,
        ge=1,
        title="Messages per update",
        description="Maximum new messages that one update reads.",
    )
    signal_chars: int = Field(
        8_000,
        ge=100,
        title="Messages per update (characters)",
        description="Maximum characters of those messages, newest first.",
    )
