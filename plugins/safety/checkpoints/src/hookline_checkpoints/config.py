"""The settings of the plugin, under ``plugins: checkpoints:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CheckpointsConfig(BaseModel):
    """What is saved, and the limits on size and age."""

    max_snapshots: int = Field(
        20,
        ge=1,
        title="Checkpoints per chat and folder",
        description="Checkpoints kept for each chat and folder.",
    )
    max_store_mb: int = Field(
        500,
        ge=1,
        title="Total size (MB)",
        description="Maximum megabytes of all snapshots together.",
    )
    max_history_mb: int = Field(
        500,
        ge=1,
        title="Repository size with history (MB)",
        description="Maximum megabytes of a repository whose history is kept.",
    )
    max_days: float = Field(
        7.0, gt=0, title="Retention (days)", description="Days that snapshots are kept."
    )
    max_file_mb: float = Field(
        10.0,
        gt=0,
        title="Skip files above (MB)",
        description="Larger files, in megabytes, are skipped.",
    )
    max_files: int = Field(
        50_000,
        ge=1,
        title="Files per folder",
        description="Folders with more files than this are not saved.",
    )
    timeout_seconds: float = Field(
        10.0,
        gt=0,
        title="Snapshot timeout (seconds)",
        description="Seconds after which a snapshot is given up; the turn goes on.",
    )
    exclude: list[str] = Field(
        default_factory=list,
        title="Folders to skip",
        description="Names of more folders to skip, such as build*.",
    )
    keep: list[str] = Field(
        default_factory=list,
        title="Folders to include",
        description="Names of folders to save although they are skipped by default.",
    )

    @property
    def max_store_bytes(self) -> int:
        """Maximum bytes of the store."""
        return self.max_store_mb * 1_000_000

    @property
    def max_history_bytes(self) -> int:
        """Maximum bytes of a repository whose history is kept."""
        return self.max_history_mb * 1_000_000

    @property
    def max_file_bytes(self) -> int:
        """Maximum bytes of a file."""
        return int(self.max_file_mb * 1_000_000)
