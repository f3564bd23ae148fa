"""Settings, under ``plugins: files:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class FilesConfig(BaseModel):
    """How much the tools show and how large a file they change."""

    read_max_lines: int = Field(2_000, ge=1, description="Lines that one read_file shows.")
    read_max_chars: int = Field(
        50_000, ge=1_000, description="Characters that one read_file shows, line numbers included."
    )
    grep_max_matches: int = Field(200, ge=1, description="Matching lines that one grep shows.")
    glob_max_results: int = Field(1_000, ge=1, description="Files that one glob shows.")
    list_max_entries: int = Field(500, ge=1, description="Entries that one list_dir shows.")
    max_file_bytes: int = Field(
        10_000_000, ge=1, description="Largest file in bytes that write_file and edit_file handle."
    )
