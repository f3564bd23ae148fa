"""The settings of the plugin, under ``plugins: memory:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class MemoryConfig(BaseModel):
    """How much is remembered and how fast facts fade. Sizes are code points."""

    notes_max_chars: int = Field(
        2_200,
        ge=1,
        title="Notes file (characters)",
        description="Maximum characters of one file of notes.",
    )
    fact_max_chars: int = Field(
        500, ge=1, title="Fact length (characters)", description="Maximum characters of one fact."
    )
    facts_max: int = Field(
        10_000,
        ge=1,
        title="Facts per chat",
        description="Maximum facts per chat; beyond that the least relevant one is deleted.",
    )
    half_life_days: float = Field(
        30.0,
        title="Half-life of facts (days)",
        description="Days after which a fact's rank has halved; 0 or less: never.",
    )
    recall_limit: int = Field(
        5, ge=0, title="Facts per message", description="Maximum facts added to a message."
    )
    recall_threshold: float = Field(
        0.12,
        ge=0,
        le=1,
        title="Minimum rank of a fact",
        description="Minimum rank of a fact that is added to a message.",
    )
    recall_max_chars: int = Field(
        2_000,
        ge=1,
        title="Facts per message (characters)",
        description="Maximum characters of the facts added to a message.",
    )
    log_days: float = Field(
        365,
        gt=0,
        title="Keep changes (days)",
        description="Days for which changes are listed and can be undone.",
    )
