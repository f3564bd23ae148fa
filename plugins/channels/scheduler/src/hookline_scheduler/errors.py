"""The error for requests that cannot be carried out."""

from __future__ import annotations

from hookline_hookspecs import ToolError


class ScheduleError(ToolError):
    """A request about jobs failed. The text is a sentence for people and the model."""
