"""Settings, under ``plugins: files:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from .languages import ENDINGS


def _known(language: str) -> str:
    if language not in ENDINGS:
        raise ValueError(f"expected one of {', '.join(ENDINGS)}")
    return language


class FilesConfig(BaseModel):
    """How much the tools show and how large a file they change."""

    read_max_lines: int = Field(
        2_000, ge=1, title="Lines per read", description="Maximum lines shown by one read_file."
    )
    read_max_chars: int = Field(
        50_000,
        ge=1_000,
        title="Characters per read",
        description="Maximum characters shown by one read_file, including line numbers.",
    )
    grep_max_matches: int = Field(
        200,
        ge=1,
        title="Matches per text search",
        description="Maximum matching lines shown by one grep.",
    )
    glob_max_results: int = Field(
        1_000, ge=1, title="Results per file search", description="Maximum files shown by one glob."
    )
    list_max_entries: int = Field(
        500,
        ge=1,
        title="Entries per folder listing",
        description="Maximum entries shown by one list_dir.",
    )
    max_file_bytes: int = Field(
        10_000_000,
        ge=1,
        title="File size for changes (bytes)",
        description="Maximum bytes of a file for write_file and edit_file.",
    )
    diagnostics: dict[Annotated[str, AfterValidator(_known)], str] = Field(
        {},
        title="Language servers",
        description="Command that starts a language server, by language, such as python.",
    )
