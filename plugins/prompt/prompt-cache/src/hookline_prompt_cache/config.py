"""The settings of the plugin, under ``plugins: prompt-cache:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class PromptCacheConfig(BaseModel):
    """What is marked, and how long it is cached."""

    enabled: bool = Field(True, description="False leaves every request unchanged.")
    markers: bool = Field(
        True, description="False sends no cache_control, for proxies that refuse it."
    )
    ttl: Literal["auto", "5m", "1h"] = Field(
        "auto", description="How long a prefix is cached; auto goes by the pauses so far."
    )
    cache_key: Literal["auto", "always", "never"] = Field(
        "auto",
        description="prompt_cache_key on the OpenAI wire; auto: to providers known to accept it.",
    )
    smallest_prefix: int | None = Field(
        None, ge=1, description="Tokens below which the model caches nothing; null looks it up."
    )
