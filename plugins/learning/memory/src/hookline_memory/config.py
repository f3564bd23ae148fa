"""The settings of the plugin, under ``plugins: memory:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class MemoryConfig(BaseModel):
    """How much is remembered and how fast it fades. Sizes are code points."""

    notes_max_chars: int = Field(
        2_200, ge=1, description="Characters of one file of notes, separators counted."
    )
    fact_max_chars: int = Field(500, ge=1, description="Characters of one fact.")
    facts_max: int = Field(
        10_000, ge=1, description="Facts of one chat; above that the weakest one is deleted."
    )
    half_life_days: float = Field(
        30.0, description="Days in which a fact's rank halves; 0 or less switches that off."
    )
    recall_limit: int = Field(5, ge=0, description="Most facts added to a turn automatically.")
    recall_threshold: float = Field(
        0.12, ge=0, le=1, description="Rank that a fact needs to be added automatically."
    )
    recall_max_chars: int = Field(
        2_000, ge=1, description="Most characters of facts that are added to a turn automatically."
    )
    log_days: float = Field(
        365, gt=0, description="Days for which a change is listed and can be undone."
    )
