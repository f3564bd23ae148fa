"""The settings of the plugin, under ``plugins: context-files:`` in ``config.yaml``."""

from __future__ import annotations

from hookline_hookspecs.prompt import CONTEXT_MAX_CHARS, SOUL_MAX_CHARS
from pydantic import BaseModel, Field, model_validator


class ContextFilesConfig(BaseModel):
    """How much of the files goes into the prompt. Characters are code points."""

    context_max_chars: int = Field(
        CONTEXT_MAX_CHARS,
        ge=1,
        title="Context files (characters)",
        description="Maximum characters of project, global and per-chat files together.",
    )
    soul_max_chars: int = Field(
        SOUL_MAX_CHARS,
        ge=1,
        title="SOUL.md (characters)",
        description="Maximum characters of SOUL.md.",
    )
    head_share: float = Field(
        0.7,
        ge=0,
        le=1,
        title="Share for the start of a file",
        description="Share of its space that the start of a long file gets.",
    )
    tail_share: float = Field(
        0.2,
        ge=0,
        le=1,
        title="Share for the end of a file",
        description="Share of its space that the end of a long file gets.",
    )

    @model_validator(mode="after")
    def _shares_fit(self) -> ContextFilesConfig:
        if self.head_share + self.tail_share > 1:
            raise ValueError("head_share and tail_share together are more than 1; lower one")
        return self
