"""Finds which parts that run, of a file such as ``package.json``, a change touches."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

AtOnce = Literal["at_once", "later", ""]


def running_part(
    parts: Mapping[str, Sequence[str]], name: str, before: str, after: str
) -> tuple[AtOnce, str]:
    """The kind of the first part that differs, and its dotted name; empty strings if none does.

    ``at_once`` runs as soon as someone installs the package. Text that cannot be parsed counts as
    empty before the change. After the change it counts as a change to the whole file that runs
    later, because nothing can be installed from it as it is.
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
