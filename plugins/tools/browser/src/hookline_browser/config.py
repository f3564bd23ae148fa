"""Settings, under ``plugins: browser:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class BrowserConfig(BaseModel):
    """Which browser is used, and its limits."""

    executable: str | None = Field(
        None,
        description="Chromium's program. None: the first of chromium, chromium-browser and "
        "google-chrome on PATH.",
    )
    sandbox: Literal["auto", "always"] = Field(
        "auto",
        description="Chromium's own sandbox; auto: except as root, where Chromium has none; "
        "always: as root the browser does not start.",
    )
    idle_minutes: float = Field(
        10.0, gt=0, le=1_440, description="Minutes without a call until the browser is closed."
    )
    timeout: float = Field(30.0, gt=0, le=240, description="Seconds for a page to load.")
    max_megabytes: int = Field(
        50, ge=1, le=2_000, description="Megabytes received in one call, downloads included."
    )
    downloads: str = Field(
        "downloads", min_length=1, description="Folder of the workspace for downloads."
    )
