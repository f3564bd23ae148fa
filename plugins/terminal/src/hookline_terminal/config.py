"""What ``plugins.terminal`` in ``config.yaml`` may hold."""

from __future__ import annotations

from pydantic import BaseModel, Field


class TerminalConfig(BaseModel):
    """How the terminal looks."""

    markdown: bool = Field(default=True, description="Render answers; false shows them as written.")
    tool_lines: bool = Field(default=True, description="A line for each tool call.")
    live_lines: int = Field(
        default=6, ge=1, le=100, description="Lines shown of a paragraph that is still growing."
    )
