"""The settings of the plugin, under ``plugins: tool-cache:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ToolCacheConfig(BaseModel):
    """How much is remembered."""

    max_bytes: int = Field(
        16_000_000, ge=0, description="Bytes of all results together; 0 keeps none."
    )
