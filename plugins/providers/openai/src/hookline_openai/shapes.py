"""Values out of a server's JSON, as what they should be: nothing a server sends may raise."""

from __future__ import annotations

from typing import Any


def mapping(value: object) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The objects of a list; empty if it is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: object) -> str:
    """``value`` if it is text, else an empty one."""
    return value if isinstance(value, str) else ""
