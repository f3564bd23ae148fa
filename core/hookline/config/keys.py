"""Formats config errors as sentences: where, which key, what to do.

`Lines` maps a key to the place that set it: a line of config.yaml, or the name of another source,
such as `HOOKLINE_MODEL`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs.setting_errors import Key

Lines: TypeAlias = Mapping[Key, int | str]


def sentence(path: Path | str, lines: Lines, key: Key, text: str) -> str:
    """Prefix `text` with `key` and the place that set it, or else that of the nearest section."""
    around = (key[:length] for length in range(len(key), 0, -1))
    place = next((lines[outer] for outer in around if outer in lines), str(path))
    where = place if isinstance(place, str) else f"{path}:{place}"
    return ": ".join(filter(None, (where, ".".join(key), text)))


def map_scalars(value: Any, key: Key, change: Callable[[Any, Key], Any]) -> Any:
    """The `value` at `key` with every scalar in it replaced by `change(scalar, scalar_key)`."""
    if isinstance(value, dict):
        return {name: map_scalars(inner, (*key, name), change) for name, inner in value.items()}
    if isinstance(value, list):
        return [map_scalars(inner, (*key, str(index)), change) for index, inner in enumerate(value)]
    return change(value, key)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most similar to `name`, or None if none is similar."""
    return next(iter(difflib.get_close_matches(name, names, 1)), None)
