"""Reads values of a server's JSON by type, so that nothing a server sends raises."""

from __future__ import annotations

from typing import Any


def as_mapping(value: object) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_mappings(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; none if ``value`` is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_string(value: object) -> str:
    """Return ``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
