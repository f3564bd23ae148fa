"""The settings of the plugin, under ``plugins: redact:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field, field_validator

from .spans import KINDS, Kind


class RedactConfig(BaseModel):
    """What is looked for, and where beside ``pre_learn``."""

    region: str = Field(
        "US", description="Two letters of the country whose national phone numbers are known."
    )
    kinds: list[Kind] = Field(
        list(KINDS), description="What is replaced; leave one out to let it be remembered."
    )
    outbound: bool = Field(False, description="Also redact replies; they are then not streamed.")

    @field_validator("region")
    @classmethod
    def _two_letters(cls, region: str) -> str:
        if len(region) != 2 or not (region.isascii() and region.isalpha()):
            raise ValueError(f"region is {region!r}; write two letters, such as US, DE or JP")
        return region.upper()
