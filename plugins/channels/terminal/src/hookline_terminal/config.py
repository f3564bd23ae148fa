"""Settings under ``plugins.terminal`` in ``config.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

StatusItem: TypeAlias = Literal[
    "model", "mode", "sandbox", "context", "cost", "jobs", "folder", "branch"
]
STATUS: tuple[StatusItem, ...] = (
    "model",
    "mode",
    "sandbox",
    "context",
    "cost",
    "jobs",
    "folder",
    "branch",
)


SCREEN_READER_VARIABLE = "HOOKLINE_SCREEN_READER"


class TerminalConfig(BaseModel):
    """How much the terminal shows."""

    markdown: bool = Field(
        default=True,
        title="Format answers",
        description="Format answers; off shows the plain Markdown.",
    )
    tool_lines: bool = Field(
        default=True, title="Show tool calls", description="Show a line for each tool call."
    )
    live_lines: int = Field(
        default=6,
        ge=1,
        le=100,
        title="Lines shown while writing",
        description="Lines shown of a paragraph while it is written.",
    )
    diff_lines: int = Field(
        default=24,
        ge=1,
        le=10_000,
        title="Lines shown of a diff",
        description="Lines shown of a diff before it is folded.",
    )
    output_lines: int = Field(
        default=8,
        ge=2,
        le=10_000,
        title="Lines shown of output",
        description="Lines shown of a command's output.",
    )
    notify: bool = Field(
        default=True,
        title="Notifications",
        description=(
            "Notify of questions and of the end of long turns while the terminal is in the "
            "background: bell, desktop notification, window title."
        ),
    )
    notify_seconds: float = Field(
        default=10.0,
        ge=0,
        title="Notify of turns longer than (seconds)",
        description="Turns at least this long, in seconds, notify you at the end.",
    )
    status: tuple[StatusItem, ...] = Field(
        default=STATUS,
        title="Status line",
        description="Parts of the status line, in this order; a narrow terminal drops the last "
        "ones. An empty list hides the line.",
    )
    theme: Literal["auto", "dark", "light", "ansi", "none"] = Field(
        default="auto",
        title="Colours",
        description=(
            "Colours: for a dark or light background, the terminal's own 16, or none; auto asks "
            "the terminal. /theme in the chat overrides this."
        ),
    )
    screen_reader: bool = Field(
        default=False,
        title="Screen reader mode",
        description=(
            "For screen readers: plain lines, no spinner, no status line, no boxes. "
            "HOOKLINE_SCREEN_READER=1 does the same."
        ),
    )

    def is_plain(self, env: Mapping[str, str]) -> bool:
        """Whether a screen reader reads the terminal, by these settings or the environment."""
        return self.screen_reader or env.get(SCREEN_READER_VARIABLE, "") not in ("", "0", "false")
