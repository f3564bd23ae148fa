"""Keeps secrets out of what is stored: by the names of values, and by the shapes of keys."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookline_hookspecs.secrets import redacted

MASK = "********"
READ = 20_000
"""Characters of a text that are looked at; what is kept of it is far shorter."""


@cache
def _rules() -> tuple[tuple[str, ...], tuple[re.Pattern[str], ...]]:
    """Endings of keys and patterns of texts, from ``secrets.toml``."""
    data = tomllib.loads((files(__package__) / "secrets.toml").read_text("utf-8"))
    return tuple(data["keys"]), tuple(map(re.compile, data["patterns"].values()))


def is_secret(key: str) -> bool:
    """True for the name of a value that nobody may see, such as ``api_key``."""
    return re.sub(r"[\W_]", "", key).casefold().endswith(_rules()[0])


def masked(text: str, most: int) -> str:
    """At most ``most`` characters of ``text`` on one line, what looks like a secret masked."""
    if len(text) > READ:
        text = _whole_words(text)
    text = redacted(text)
    for pattern in _rules()[1]:
        text = pattern.sub(_mask, text)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def masked_values(value: Any, most: int) -> str:
    """A mapping's values as compact JSON, as :func:`masked`."""
    try:
        text = json.dumps(_without_secrets(value, most), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(what JSON cannot hold)"
    return text if len(text) <= most else text[: most - 1] + "…"


def _without_secrets(value: Any, most: int) -> Any:
    if isinstance(value, Mapping):
        return {
            masked(str(key), most): MASK if is_secret(str(key)) else _without_secrets(part, most)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(part, most) for part in value]
    return masked(value, most) if isinstance(value, str) else value


def _whole_words(text: str) -> str:
    """The beginning of a long text, without the word that is cut through: it may be a secret."""
    head = text[:READ]
    return head[: head.rfind(" ") + 1] or MASK if not head[-1].isspace() else head


def _mask(found: re.Match[str]) -> str:
    kept = found.groupdict().get("kept") or ""
    return f"{kept}{MASK}"
