"""The settings of the plugin, under ``plugins: user-model:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class UserModelConfig(BaseModel):
    """How long the portrait may be and how many messages it is made from. Sizes are code points."""

    max_chars: int = Field(1_500, ge=100, description="Characters of USER.md.")
    versions: int = Field(20, ge=1, description="Previous versions of each portrait that are kept.")
    signal_messages: int = Field(
        40, ge=1, description="The person's newest messages that one curation reads."
    )
    signal_chars: int = Field(
        8_000, ge=100, description="Characters of those messages, the newest first."
    )
