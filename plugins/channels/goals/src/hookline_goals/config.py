"""Settings under ``plugins.goals`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class GoalsConfig(BaseModel):
    """What one goal may use before it pauses."""

    turns: int = Field(
        default=20, ge=1, le=1000, title="Turns per goal", description="Maximum turns for one goal."
    )
    tokens: int = Field(
        default=1_000_000,
        ge=1000,
        title="Tokens per goal",
        description="Maximum tokens for one goal; cached tokens count one tenth.",
    )
    dollars: float | None = Field(
        default=None,
        gt=0,
        title="Cost per goal (US dollars)",
        description="Maximum cost of one goal in US dollars; null: no limit.",
    )
    minutes: float = Field(
        default=60.0,
        gt=0,
        title="Time per goal (minutes)",
        description="Maximum minutes for all turns of one goal.",
    )
    background: int = Field(
        default=2,
        ge=1,
        le=20,
        title="Background goals per chat",
        description="Maximum background goals of a chat at a time.",
    )
    look_every: float = Field(
        default=30.0,
        ge=0.01,
        title="Check interval (seconds)",
        description="Seconds between checks for goals whose process has died.",
    )
