"""Files of which only some parts run: which of these parts a change touches."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

AtOnce = Literal["at_once", "later", ""]


def running_part(
    parts: Mapping[str, Sequence[str]], name: str, before: str, after: str
) -> tuple[AtOnce, str]:
    """Which kind of part differs, and its dotted name; empty strings if none does.

    ``at_once`` runs as soon as somebody installs the package. What cannot be parsed before the
    change counts as empty, after it as a change of what runs later: nothing can be installed
    from it as it is.
    """
    new = _parsed(name, after)
    if new is None:
        return "later", name
    old = _parsed(name, before) or {}
    kinds: tuple[Literal["at_once", "later"], ...] = ("at_once", "later")
    for kind in kinds:
        for part in parts[kind]:
            if (now := _at(new, part)) is not None and now != _at(old, part):
                return kind, part
    return "", ""


def _parsed(name: str, text: str) -> dict[str, Any] | None:
    try:
        data = tomllib.loads(text) if name.endswith(".toml") else json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return _lowered(data) if isinstance(data, dict) else None


def _lowered(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.lower(): _lowered(value) if isinstance(value, dict) else value
        for key, value in data.items()
    }


def _at(data: Mapping[str, Any], part: str) -> Any:
    found: Any = data
    for key in part.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found
