"""Settings, under ``plugins: osv:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field

PUBLIC_URL = "https://api.osv.dev"
"""The public service (google.github.io/osv.dev, "API")."""


class OsvConfig(BaseModel):
    """Which service is queried, and how much of its answer is shown."""

    base_url: str = Field(
        PUBLIC_URL,
        pattern=r"^https?://[^/\s]+[^\s?#]*$",
        title="API address",
        description="Address of the OSV API; change it only for a server of your own.",
    )
    timeout_seconds: float = Field(
        30.0,
        gt=0,
        le=300,
        title="Check timeout (seconds)",
        description="Maximum seconds for one check.",
    )
    max_pages: int = Field(
        10, ge=1, title="Pages per answer", description="Maximum pages fetched of an answer."
    )
    max_shown: int = Field(
        15,
        ge=1,
        title="Advisories shown",
        description="Maximum advisories shown to the model, worst first.",
    )
    cache_seconds: float = Field(
        3600.0,
        ge=0,
        title="Cache lifetime (seconds)",
        description="Seconds for which the same check is answered from the cache.",
    )
