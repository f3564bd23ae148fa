"""Formats text for approval: literal, with nothing hidden."""

from __future__ import annotations

import json

from hookline_hookspecs.visible_text import spell_out

MASK = "••••••"
MAX_FIELD_CHARS = 2_000
"""Characters shown of a field that the page has filled in."""
MAX_HIDDEN_FIELD_CHARS = 200
"""Characters shown of a hidden field."""


def visible(text: str) -> str:
    """The text on one line, with invisible and misleading characters escaped."""
    return spell_out(text).replace("\n", "\\n").replace("\t", "\\t")


def quoted(text: str) -> str:
    """The text in quotes, line breaks and invisible characters escaped; never cut."""
    return visible(json.dumps(text, ensure_ascii=False))


def field_line(name: str, kind: str, value: str, *, pending: bool) -> str:
    """A line for a form field. ``pending``: the model typed the value, which is never cut."""
    shown = visible(name)[:100] or "(no name)"
    if kind == "password":
        return f"  {shown} = {MASK}"
    limit = MAX_HIDDEN_FIELD_CHARS if kind == "hidden" else MAX_FIELD_CHARS
    if pending:
        limit = len(value)
    left_out = len(value) - limit
    more = f" and {left_out:,} more characters" if left_out > 0 else ""
    return f"  {shown} = {quoted(value[:limit])}{more}{' (hidden)' if kind == 'hidden' else ''}"
