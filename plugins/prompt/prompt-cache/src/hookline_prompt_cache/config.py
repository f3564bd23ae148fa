"""The settings of the plugin, under ``plugins: prompt-cache:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class PromptCacheConfig(BaseModel):
    """What is marked, and how long it is cached."""

    enabled: bool = Field(
        True,
        title="Plan caching",
        description="Plan what the provider caches; off leaves every request unchanged.",
    )
    markers: bool = Field(
        True,
        title="Send cache markers",
        description="Send cache_control; turn off for proxies that refuse it.",
    )
    ttl: Literal["auto", "5m", "1h"] = Field(
        "auto",
        title="Cache lifetime",
        description="How long a prefix is cached; auto goes by how long you have paused so far.",
    )
    cache_key: Literal["auto", "always", "never"] = Field(
        "auto",
        title="Send a cache key",
        description=(
            "Send prompt_cache_key to OpenAI-compatible servers; auto: to those known to accept it."
        ),
    )
    smallest_prefix: int | None = Field(
        None,
        ge=1,
        title="Smallest cached prompt (tokens)",
        description="Tokens below which the model caches nothing; null: look it up.",
    )
