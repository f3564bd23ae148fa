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
        description="URL of the OSV API; any other than the public one is the operator's own.",
    )
    timeout_seconds: float = Field(
        30.0, gt=0, le=300, description="Seconds for one check with all its pages."
    )
    max_pages: int = Field(10, ge=1, description="Pages of an answer that are fetched.")
    max_shown: int = Field(15, ge=1, description="Advisories that the model reads, worst first.")
    cache_seconds: float = Field(
        3600.0, ge=0, description="Seconds for which an equal check may come from the cache."
    )
