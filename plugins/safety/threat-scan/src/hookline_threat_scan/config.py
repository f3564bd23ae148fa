"""The settings of the plugin, under ``plugins: threat-scan:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ThreatScanConfig(BaseModel):
    """What is scanned less strictly, or not at all."""

    allow: list[str] = Field(
        [],
        title="Sources not scanned",
        description="Sources that are not scanned, as patterns such as tests/fixtures/*.",
    )
    installers: list[str] = Field(
        [],
        title="Trusted installers",
        description="Hosts, or hosts with a path, whose scripts may be downloaded and run.",
    )
    data_kinds: list[str] = Field(
        ["file", "reference", "web", "page", "advisory", "attachment", "image", "audio", "tool"],
        title="Content treated as data",
        description="Kinds of content that are only looked at, not followed.",
    )
