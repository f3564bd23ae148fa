"""The settings of the plugin, under ``plugins: guardrails:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class GuardrailsConfig(BaseModel):
    """When a model that repeats itself gets a note, and when it is stopped."""

    window: int = Field(
        10,
        ge=0,
        title="Calls checked for repetition",
        description="Latest tool calls searched for repeated ones; 0: off.",
    )
    repeats: int = Field(
        3, ge=1, title="Equal calls allowed", description="Maximum equal calls among them."
    )
    exempt: list[str] = Field(
        ["fetch_artifact"],
        title="Tools that may repeat",
        description="Tools whose repeated calls are never refused.",
    )
    failures: int = Field(
        3,
        ge=0,
        title="Failures before a hint",
        description=(
            "After this many failures of a tool in a row, the model is told to change its "
            "approach; 0: off."
        ),
    )
    hard_stop: int = Field(
        8,
        ge=0,
        title="Failures before the turn ends",
        description=(
            "After this many failures of a tool in a row an unattended turn ends, and after this "
            "many unusable calls in a row any turn; 0: off."
        ),
    )
    attended: list[str] = Field(
        ["terminal"], title="Attended channels", description="Channels where a person is watching."
    )
