"""Which origins are kept with what is learnt, and how they are named to people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hookline_hookspecs import Origin, merge_origins, origins_from_json, origins_to_json

MOST = 20
"""Origins that are kept with an entry; the others are counted in one that is from outside."""
NAMED = 3
"""Sources that are named where entries are shown."""
WIDTH = 80
"""Characters of a source where entries are shown."""


def kept(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    """The origins that are stored: all but the workspace's own, people's first."""
    found = [origin for origin in merge_origins(origins) if origin.kind != "workspace"]
    if len(found) <= MOST:
        return tuple(found)
    ordered = sorted(found, key=lambda origin: origin.kind == "outside")
    return (*ordered[:MOST], Origin("outside", f"{len(found) - MOST} more"))


def is_outside(origins: Iterable[Origin]) -> bool:
    """True if anything came from outside."""
    return any(origin.kind == "outside" for origin in origins)


def stored(origins: Iterable[Origin]) -> str:
    """Origins as a column holds them."""
    return json.dumps(origins_to_json(origins), ensure_ascii=False)


def read(column: str | None) -> tuple[Origin, ...]:
    """The origins of a column."""
    return origins_from_json(json.loads(column or "[]"))


def named(origins: Sequence[Origin]) -> str:
    """The sources for a person, those from outside first: ``https://page.example/, chat:ann``."""
    ordered = sorted(origins, key=lambda origin: origin.kind != "outside")
    names = list(dict.fromkeys(_short(origin.source or origin.kind) for origin in ordered))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def strangers(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """The origins but the operator's and the workspace's."""
    return tuple(one for one in origins if one.kind not in ("operator", "workspace"))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDTH else flat[: WIDTH - 1] + "…"
