"""What a person reads before something leaves: literal, with nothing hidden."""

from __future__ import annotations

import json
import unicodedata

MASK = "••••••"
SHOWN, HIDDEN_SHOWN = 2_000, 200
"""Characters shown of a field that the page itself has filled in, and of one that it hides."""


def visible(text: str) -> str:
    """The text on one line, with what cannot be seen, or could disguise it, as escapes."""
    return "".join(
        char
        if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def quoted(text: str) -> str:
    """The text in quotes, line breaks and invisible characters escaped; never cut."""
    return visible(json.dumps(text, ensure_ascii=False))


def field_line(name: str, kind: str, value: str, *, ours: bool) -> str:
    """A field of a form. ``ours``: what the model typed, which is never cut."""
    shown = visible(name)[:100] or "(no name)"
    if kind == "password":
        return f"  {shown} = {MASK}"
    most = len(value) if ours else HIDDEN_SHOWN if kind == "hidden" else SHOWN
    left_out = len(value) - most
    more = f" and {left_out:,} more characters" if left_out > 0 else ""
    return f"  {shown} = {quoted(value[:most])}{more}{' (hidden)' if kind == 'hidden' else ''}"
