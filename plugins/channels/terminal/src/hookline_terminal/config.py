"""Settings under ``plugins.terminal`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class TerminalConfig(BaseModel):
    """How much the terminal shows."""

    markdown: bool = Field(default=True, description="Render answers; false shows them as written.")
    tool_lines: bool = Field(default=True, description="Show a line for each tool call.")
    live_lines: int = Field(
        default=6, ge=1, le=100, description="Lines shown of a paragraph that is still growing."
    )
    diff_lines: int = Field(
        default=24, ge=1, le=10_000, description="Lines shown of a diff before it is folded."
    )
    output_lines: int = Field(
        default=8, ge=2, le=10_000, description="Lines shown of a command's output."
    )
    notify: bool = Field(
        default=True,
        description="Notify of questions and of the end of long turns while the terminal does not "
        "have the focus: bell, desktop notification, window title.",
    )
    notify_seconds: float = Field(
        default=10.0, ge=0, description="Seconds that a turn takes at least to notify at its end."
    )
