"""The settings of the plugin, under ``plugins: osv:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field

PUBLIC = "https://api.osv.dev"
"""The public service (google.github.io/osv.dev, "API")."""


class OsvConfig(BaseModel):
    """Which service is asked, and how much of its answer is shown."""

    base_url: str = Field(
        PUBLIC,
        pattern=r"^https?://[^/\s]+[^\s?#]*$",
        description="Where the OSV API is; another one than the public is taken as the operator's.",
    )
    timeout_seconds: float = Field(
        30.0, gt=0, le=300, description="Seconds for one check, all its pages together."
    )
    max_pages: int = Field(10, ge=1, description="Pages of an answer that are fetched.")
    max_shown: int = Field(15, ge=1, description="Advisories that the model reads, the worst.")
    cache_seconds: float = Field(
        3600.0, ge=0, description="For how long an equal check may be answered from the cache."
    )
