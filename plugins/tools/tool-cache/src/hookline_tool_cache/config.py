"""Settings, under ``plugins: tool-cache:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ToolCacheConfig(BaseModel):
    """The size of the cache."""

    max_bytes: int = Field(
        16_000_000,
        ge=0,
        title="Cache size (bytes)",
        description="Maximum bytes of all results together; 0: off.",
    )
