"""Settings, under ``plugins: artifacts:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field, model_validator


class ArtifactsConfig(BaseModel):
    """How much of a result is shown, and how long all of it is stored. Sizes are code points."""

    max_chars: int = Field(
        4_000,
        ge=1,
        title="Shorten results above (characters)",
        description="Longer results, in characters, are shortened.",
    )
    head: int = Field(
        1_500,
        ge=0,
        title="Shown from the beginning (characters)",
        description="Characters shown from the beginning.",
    )
    tail: int = Field(
        500,
        ge=0,
        title="Shown from the end (characters)",
        description="Characters shown from the end.",
    )
    ttl_hours: float = Field(
        24, gt=0, title="Retention (hours)", description="Hours that the full text is kept."
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> ArtifactsConfig:
        if self.head + self.tail > self.max_chars:
            raise ValueError("head and tail together may not be larger than max_chars")
        return self
