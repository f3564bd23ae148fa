"""The settings of the plugin, under ``plugins: context-refs:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ContextRefsConfig(BaseModel):
    """How much one reference, and all references of a message together, may attach."""

    file_max_chars: int = Field(65_536, ge=1, description="Maximum characters shown of a file.")
    file_max_bytes: int = Field(524_288, ge=1, description="Maximum bytes of a file (512 KB).")
    folder_max_entries: int = Field(200, ge=1, description="Maximum entries listed of a folder.")
    diff_max_bytes: int = Field(
        32_768, ge=1, description="Maximum bytes shown of a @diff, @staged or @git (32 KB)."
    )
    url_max_bytes: int = Field(
        65_536, ge=1, description="Maximum bytes shown of a page's text (64 KB)."
    )
    warn_share: float = Field(
        0.25,
        gt=0,
        le=1,
        description="Share of the model's context window above which you are warned.",
    )
    refuse_share: float = Field(
        0.5, gt=0, le=1, description="Share of the model's context window that is never exceeded."
    )
    max_references: int = Field(50, ge=1, description="Maximum references resolved in one message.")
    git_seconds: float = Field(10.0, gt=0, description="Maximum seconds for one git command.")
    total_seconds: float = Field(
        20.0, gt=0, le=25, description="Seconds after which slow references are given up."
    )
