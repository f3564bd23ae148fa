"""The settings of the plugin, under ``plugins: guardrails:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class GuardrailsConfig(BaseModel):
    """When a model that repeats itself gets a note, and when it is stopped."""

    window: int = Field(
        10, ge=0, description="How many of the latest calls are searched for equal ones; 0 = off."
    )
    repeats: int = Field(3, ge=1, description="How many equal calls among them are allowed.")
    exempt: list[str] = Field(
        ["fetch_artifact"], description="Tools whose repeated calls are never refused."
    )
    failures: int = Field(
        3,
        ge=0,
        description="From this many failures of a tool in a row each one gets a note; 0 = off.",
    )
    hard_stop: int = Field(
        8,
        ge=0,
        description="After this many failures of a tool in a row an unattended turn ends, and "
        "after this many unusable calls in a row any turn; 0 = off.",
    )
    attended: list[str] = Field(["terminal"], description="Channels on which a person is watching.")
