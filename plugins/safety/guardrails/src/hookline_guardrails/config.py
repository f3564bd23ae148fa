"""The settings of the plugin, under ``plugins: guardrails:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class GuardrailsConfig(BaseModel):
    """When a model is warned that it goes in circles, and when it is stopped (FEATURES)."""

    window: int = Field(
        10, ge=0, description="The latest calls among which equal ones are counted; 0 = off."
    )
    repeats: int = Field(3, ge=1, description="Equal calls among them that are allowed.")
    exempt: list[str] = Field(
        ["fetch_artifact"], description="Tools whose equal calls are never refused."
    )
    failures: int = Field(
        3, ge=0, description="Failures of a tool in a row from which each one gets a note; 0 = off."
    )
    hard_stop: int = Field(
        8, ge=0, description="Failures in a row that end an unattended turn; 0 = off."
    )
    attended: list[str] = Field(["terminal"], description="Channels on which somebody is watching.")
