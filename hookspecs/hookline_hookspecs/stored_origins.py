"""Stores origins with what is learned, and formats them for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hookline_hookspecs import Origin, merge_origins, origins_from_json, origins_to_json

MAX_STORED_ORIGINS = 20
"""Maximum number of origins stored with an entry; one more outside origin counts the rest."""
MAX_NAMED_SOURCES = 3
"""Maximum number of sources named where entries are shown."""
MAX_SOURCE_CHARS = 80
"""Maximum length of a source where entries are shown."""


def kept(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    """The origins to store: all except the workspace's own, people first."""
    found = [origin for origin in merge_origins(origins) if origin.kind != "workspace"]
    if len(found) <= MAX_STORED_ORIGINS:
        return tuple(found)
    ordered = sorted(found, key=lambda origin: origin.kind == "outside")
    rest = len(found) - MAX_STORED_ORIGINS
    return (*ordered[:MAX_STORED_ORIGINS], Origin("outside", f"{rest} more"))


def is_outside(origins: Iterable[Origin]) -> bool:
    """True if any origin is from outside."""
    return any(origin.kind == "outside" for origin in origins)


def stored(origins: Iterable[Origin]) -> str:
    """Encode origins for a column."""
    return json.dumps(origins_to_json(origins), ensure_ascii=False)


def read(column: str | None) -> tuple[Origin, ...]:
    """Decode the origins in a column."""
    return origins_from_json(json.loads(column or "[]"))


def named(origins: Sequence[Origin]) -> str:
    """Format the sources for people, outside ones first: ``https://page.example/, chat:ann``."""
    ordered = sorted(origins, key=lambda origin: origin.kind != "outside")
    names = list(dict.fromkeys(_short(origin.source or origin.kind) for origin in ordered))
    rest = len(names) - MAX_NAMED_SOURCES
    more = f" and {rest} more" if rest > 0 else ""
    return f"{', '.join(names[:MAX_NAMED_SOURCES])}{more}"


def strangers(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """The origins except the operator's and the workspace's."""
    return tuple(origin for origin in origins if origin.kind not in ("operator", "workspace"))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_SOURCE_CHARS else flat[: MAX_SOURCE_CHARS - 1] + "…"
