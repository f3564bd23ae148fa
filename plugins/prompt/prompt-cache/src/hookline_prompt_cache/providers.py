"""What models and providers support, from ``providers.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


def smallest_prefix(model: str) -> int:
    """Return the tokens of the shortest prefix that ``model`` caches, by the longest known name.

    From Anthropic's page on prompt caching. An unknown model has the smallest value: a marker on a
    prefix that is too short costs nothing.
    """
    table: Mapping[str, int] = _data()["smallest_prefix"]
    return table[max((name for name in table if name in model), key=len)]


def takes_cache_key(provider: str) -> bool:
    """Return whether the preset's servers accept or ignore ``prompt_cache_key``."""
    return provider in _data()["cache_key"]


@cache
def _data() -> Mapping[str, Any]:
    text = files(__package__).joinpath("providers.json").read_text(encoding="utf-8")
    data: Mapping[str, Any] = json.loads(text)
    return data
