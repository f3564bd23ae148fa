"""A platform's JSON: data files beside a channel's code, and tolerant access to events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@cache
def package_data(package: str, name: str = "facts.json") -> Mapping[str, Any]:
    """Return the content of the JSON file ``name`` in a package; do not modify it."""
    content: Mapping[str, Any] = json.loads((resources.files(package) / name).read_text("utf-8"))
    return content


def get_in(data: Any, *path: str | int, default: Any = "") -> Any:
    """Return the value at ``path`` in an event: keys of objects, indexes of lists.

    Returns ``default`` if a step is missing, null, or has another type, so that a new or missing
    field does not make the rest of the event unreadable.
    """
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return default
    return default if data is None else data
