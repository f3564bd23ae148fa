"""Settings, under ``plugins: browser:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class BrowserConfig(BaseModel):
    """Which browser is used, and its limits."""

    executable: str | None = Field(
        None,
        title="Chromium program",
        description=(
            "Path of Chromium; null: the first of chromium, chromium-browser and google-chrome on "
            "PATH."
        ),
    )
    sandbox: Literal["auto", "always"] = Field(
        "auto",
        title="Chromium sandbox",
        description=(
            "Chromium's own sandbox; auto: except as root, where it has none; always: the browser "
            "does not start as root."
        ),
    )
    idle_minutes: float = Field(
        10.0,
        gt=0,
        le=1_440,
        title="Close when idle (minutes)",
        description="Minutes without use after which the browser is closed.",
    )
    timeout: float = Field(
        30.0,
        gt=0,
        le=240,
        title="Page load timeout (seconds)",
        description="Maximum seconds for a page to load.",
    )
    max_megabytes: int = Field(
        50,
        ge=1,
        le=2_000,
        title="Data limit per call (MB)",
        description="Maximum megabytes received in one call, including downloads.",
    )
    downloads: str = Field(
        "downloads",
        min_length=1,
        title="Download folder",
        description="Folder in the workspace for downloads.",
    )
