"""The settings of the plugin."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field


class ClusterConfig(BaseModel):
    """The settings of a process in the cluster."""

    turns: int = Field(
        default=100,
        ge=1,
        le=10_000,
        title="Chats per worker",
        description="Maximum chats that a worker serves at once.",
    )
    files: Path | None = Field(
        default=None,
        title="Shared folder",
        description="A folder that all machines share, for the files of chats.",
    )
    drain: float = Field(
        default=24.0,
        ge=0,
        le=3600,
        title="Time to finish (seconds)",
        description="Seconds that running turns get to finish when a worker is stopped.",
    )
    sweep: float = Field(
        default=4.0,
        ge=0.1,
        le=60,
        title="Check interval (seconds)",
        description="Seconds between checks for missed work.",
    )
