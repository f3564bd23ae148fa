"""Masks the values of used secrets in tool results, before anything stores them."""

from __future__ import annotations

from dataclasses import replace

from hookline_hookspecs import ToolResult
from hookline_hookspecs.secrets import redacted


def mask_result(result: ToolResult) -> ToolResult | None:
    """Return the result with used values masked and without ``data``; None if it has none."""
    text = redacted(result.text)
    notes = tuple(redacted(note) for note in result.notes)
    if text == result.text and notes == tuple(result.notes):
        return None
    return replace(result, text=text, notes=notes, data=None)
