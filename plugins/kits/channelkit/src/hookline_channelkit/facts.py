"""What a platform's documents say, as data: a JSON file beside a channel's code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@cache
def facts(package: str, name: str = "facts.json") -> Mapping[str, Any]:
    """What the JSON file ``name`` of a package holds ; it is not to be changed."""
    found: Mapping[str, Any] = json.loads((resources.files(package) / name).read_text("utf-8"))
    return found


def got(data: Any, *path: str | int, default: Any = "") -> Any:
    """What stands at ``path`` in an event (keys of objects, places in lists), as it came.

    ``default`` where something on the way is missing, null, or of another shape: a field that is
    new, or gone, is then no reason to lose the rest.
    """
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return default
    return default if data is None else data
