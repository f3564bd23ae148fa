"""Words for messages without a text, such as a contact or a poll."""

from __future__ import annotations


def describe_kind(kind: str, *details: object) -> str:
    """Return ``(KIND: DETAIL, …)``, as the model reads it; details that are empty are left out."""
    shown = ", ".join(" ".join(str(one).split()) for one in details if one not in (None, ""))
    return f"({kind}: {shown})" if shown else f"({kind})"
