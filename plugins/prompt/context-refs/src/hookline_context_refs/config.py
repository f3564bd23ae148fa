"""The settings of the plugin, under ``plugins: context-refs:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ContextRefsConfig(BaseModel):
    """How much one reference, and all references of a message together, may attach."""

    file_max_chars: int = Field(
        65_536,
        ge=1,
        title="File contents shown (characters)",
        description="Maximum characters shown of a file.",
    )
    file_max_bytes: int = Field(
        524_288, ge=1, title="File size (bytes)", description="Maximum bytes of a file (512 KB)."
    )
    folder_max_entries: int = Field(
        200,
        ge=1,
        title="Entries shown of a folder",
        description="Maximum entries listed of a folder.",
    )
    diff_max_bytes: int = Field(
        32_768,
        ge=1,
        title="Diff shown (bytes)",
        description="Maximum bytes shown of a @diff, @staged or @git (32 KB).",
    )
    url_max_bytes: int = Field(
        65_536,
        ge=1,
        title="Page text shown (bytes)",
        description="Maximum bytes shown of a page's text (64 KB).",
    )
    warn_share: float = Field(
        0.25,
        gt=0,
        le=1,
        title="Warn above (share of the window)",
        description="Share of the model's context window above which you are warned.",
    )
    refuse_share: float = Field(
        0.5,
        gt=0,
        le=1,
        title="Refuse above (share of the window)",
        description="Share of the model's context window that is never exceeded.",
    )
    max_references: int = Field(
        50,
        ge=1,
        title="References per message",
        description="Maximum references resolved in one message.",
    )
    git_seconds: float = Field(
        10.0,
        gt=0,
        title="Git timeout (seconds)",
        description="Maximum seconds for one git command.",
    )
    total_seconds: float = Field(
        20.0,
        gt=0,
        le=25,
        title="Timeout for all references (seconds)",
        description="Seconds after which slow references are given up.",
    )
