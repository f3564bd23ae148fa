"""Settings under ``plugins.goals`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class GoalsConfig(BaseModel):
    """What one goal may use before it pauses."""

    turns: int = Field(default=20, ge=1, le=1000, description="Turns of one goal.")
    tokens: int = Field(
        default=1_000_000,
        ge=1000,
        description="Tokens of one goal; what is read from the cache counts a tenth.",
    )
    dollars: float | None = Field(
        default=None, gt=0, description="US dollars of one goal; null = no limit of its own."
    )
    minutes: float = Field(
        default=60.0, gt=0, description="Minutes that its turns may take in total."
    )
    background: int = Field(
        default=2, ge=1, le=20, description="Background goals of a chat at a time."
    )
    look_every: float = Field(
        default=30.0, ge=0.01, description="Seconds between two checks for goals of dead processes."
    )
