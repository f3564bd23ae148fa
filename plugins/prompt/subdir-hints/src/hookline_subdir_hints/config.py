"""The settings of the plugin, under ``plugins: subdir-hints:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class SubdirHintsConfig(BaseModel):
    """Where hints are looked for and how long they may be."""

    max_chars: int = Field(
        8_000,
        ge=1,
        title="Hints per result (characters)",
        description="Maximum characters of hints added to one result.",
    )
    levels: int = Field(
        5,
        ge=1,
        title="Folder levels",
        description="Maximum folders searched, from the touched one upwards.",
    )
