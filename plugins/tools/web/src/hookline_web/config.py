"""Settings, under ``plugins: web:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]


class WebConfig(BaseModel):
    """How pages are fetched, and which service searches."""

    timeout: float = Field(
        15.0,
        gt=0,
        le=300,
        title="Page timeout (seconds)",
        description="Maximum seconds for a page, including redirects and robots.txt.",
    )
    max_bytes: int = Field(
        2_000_000,
        ge=1_000,
        title="Page size (bytes)",
        description="Maximum bytes read of a page, decompressed.",
    )
    max_chars: int = Field(
        200_000,
        ge=1_000,
        title="Result length (characters)",
        description="Maximum characters of a result.",
    )
    cache_seconds: int = Field(
        900,
        ge=0,
        title="Cache lifetime (seconds)",
        description="Seconds that the plugin tool-cache may keep a result; 0: not at all.",
    )
    robots: bool = Field(True, title="Obey robots.txt", description="Obey robots.txt.")
    robots_seconds: int = Field(
        86_400,
        ge=0,
        title="Cache lifetime of robots.txt (seconds)",
        description="Seconds for which a robots.txt is cached.",
    )
    user_agent: str | None = Field(
        None,
        pattern=r"^[A-Za-z_-]+(/[\x21-\x7e]+( [\x20-\x7e]*)?)?$",
        title="User-Agent",
        description=(
            "User-Agent of requests; the part before the slash is matched with robots.txt. null: "
            "Hookline/VERSION."
        ),
    )
    search: Literal["auto", "searxng", "brave", "tavily", "duckduckgo", "none"] = Field(
        "auto",
        title="Search service",
        description="Search service; auto: the first that is configured. duckduckgo needs no key.",
    )
    searxng_base_url: BaseUrl | None = Field(
        None,
        title="SearXNG address",
        description="Address of a SearXNG instance with JSON enabled. Default: SEARXNG_BASE_URL.",
    )
    brave_api_key: SecretStr | None = Field(
        None, title="Brave Search key", description="Key for Brave Search. Default: BRAVE_API_KEY."
    )
    brave_base_url: BaseUrl = Field(
        "https://api.search.brave.com/res/v1", title="Brave Search address"
    )
    tavily_api_key: SecretStr | None = Field(
        None, title="Tavily key", description="Key for Tavily. Default: TAVILY_API_KEY."
    )
    tavily_base_url: BaseUrl = Field("https://api.tavily.com", title="Tavily address")
    duckduckgo_base_url: BaseUrl = Field(
        "https://html.duckduckgo.com/html", title="DuckDuckGo address"
    )
