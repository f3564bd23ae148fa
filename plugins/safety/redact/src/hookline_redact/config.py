"""The settings of the plugin, under ``plugins: redact:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field, field_validator

from .spans import KINDS, Kind


class RedactConfig(BaseModel):
    """What is redacted, and whether replies are."""

    region: str = Field(
        "US",
        title="Default country",
        description="Country code for phone numbers written without one.",
    )
    kinds: list[Kind] = Field(
        list(KINDS), title="Redacted data", description="Kinds of data to replace; others are kept."
    )
    outbound: bool = Field(
        False,
        title="Redact replies",
        description="Also redact replies; they then appear only when complete.",
    )

    @field_validator("region")
    @classmethod
    def _two_letters(cls, region: str) -> str:
        if len(region) != 2 or not (region.isascii() and region.isalpha()):
            raise ValueError(f"expected two letters such as US, DE or JP, got {region!r}")
        return region.upper()
