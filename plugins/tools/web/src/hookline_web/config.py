"""The settings of the plugin, under ``plugins: web:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]


class WebConfig(BaseModel):
    """How pages are fetched, and who searches."""

    timeout: float = Field(
        15.0, gt=0, le=300, description="Seconds for a page, redirects and robots.txt included."
    )
    max_bytes: int = Field(
        2_000_000, ge=1_000, description="Bytes of a page that are read, decompressed."
    )
    max_chars: int = Field(200_000, ge=1_000, description="Characters of a result.")
    cache_seconds: int = Field(
        900, ge=0, description="How long the plugin tool-cache may keep a result; 0: not at all."
    )
    robots: bool = Field(True, description="Keep to robots.txt.")
    robots_seconds: int = Field(86_400, ge=0, description="How long a robots.txt is remembered.")
    user_agent: str | None = Field(
        None,
        pattern=r"^[A-Za-z_-]+(/[\x21-\x7e]+( [\x20-\x7e]*)?)?$",
        description="How requests introduce themselves; what stands before the slash is the name "
        "that robots.txt is asked about. None: Hookline/VERSION.",
    )
    search: Literal["auto", "searxng", "brave", "tavily", "none"] = Field(
        "auto", description="Who searches; auto: the first of these that is configured."
    )
    searxng_base_url: BaseUrl | None = Field(
        None, description="A SearXNG instance whose JSON format is on. Else SEARXNG_BASE_URL."
    )
    brave_api_key: SecretStr | None = Field(None, description="Else BRAVE_API_KEY.")
    brave_base_url: BaseUrl = "https://api.search.brave.com/res/v1"
    tavily_api_key: SecretStr | None = Field(None, description="Else TAVILY_API_KEY.")
    tavily_base_url: BaseUrl = "https://api.tavily.com"
