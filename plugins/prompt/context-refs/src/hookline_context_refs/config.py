"""The settings of the plugin, under ``plugins: context-refs:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class ContextRefsConfig(BaseModel):
    """How much one reference, and all references of a message together, may attach."""

    file_max_chars: int = Field(65_536, ge=1, description="Characters of a file that are shown.")
    file_max_bytes: int = Field(
        524_288, ge=1, description="Bytes above which a file is refused (512 KB)."
    )
    folder_max_entries: int = Field(200, ge=1, description="Entries of a folder that are listed.")
    diff_max_bytes: int = Field(
        32_768, ge=1, description="Bytes of a @diff, @staged or @git that are shown (32 KB)."
    )
    url_max_bytes: int = Field(
        65_536, ge=1, description="Bytes of a page's text that are shown (64 KB)."
    )
    warn_share: float = Field(
        0.25, gt=0, le=1, description="Share of the model's window above which a warning is given."
    )
    refuse_share: float = Field(
        0.5, gt=0, le=1, description="Share of the model's window that is never exceeded."
    )
    max_references: int = Field(
        50, ge=1, description="References of one message that are resolved."
    )
    git_seconds: float = Field(10.0, gt=0, description="Seconds that one git command may take.")
    total_seconds: float = Field(
        20.0, gt=0, le=25, description="Seconds after which slow references are abandoned."
    )
