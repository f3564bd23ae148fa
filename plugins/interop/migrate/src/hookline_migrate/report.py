"""What a person reads: counts by kind, then every item with something to say, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 79
MOST = 8
"""Items of one kind and reason that are named; the others are counted."""
NAMES: Mapping[str, str] = {
    "note": "notes",
    "user": "portraits",
    "document": "documents",
    "fact": "facts",
    "skill": "skills",
    "session": "conversations",
    "job": "jobs, paused",
    "person": "people, proposed",
    "server": "MCP servers",
    "profile": "profiles",
    "key": "keys",
}
"""What the kinds are called, in the order of the report."""
STATES = ("planned", "migrated", "archived", "skipped", "conflict", "blocked", "error")
PLAIN = ("planned", "migrated")


def report(rows: Sequence[Mapping[str, Any]], heading: str) -> str:
    """The whole report."""
    lines = [heading, ""]
    lines += _counts(rows)
    left = [row for row in rows if row["kind"] not in NAMES]
    reasons = [row for row in rows if row["kind"] in NAMES and _has_something_to_say(row)]
    if reasons:
        lines += ["", *_said(reasons)]
    if left:
        lines += ["", "Not moved"]
        for row in left:
            lines += _wrapped(f"  {_place(row)}: {row['reason']}", "    ")
    return "\n".join(lines)


def undone(rows: Sequence[Mapping[str, Any]], heading: str) -> str:
    """What an undo did."""
    lines = [heading, ""]
    for kind, name in NAMES.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        gone = sum(row["state"] == "planned" for row in of_kind)
        if of_kind:
            kept = len(of_kind) - gone
            lines.append(f"  {name:<18}{gone:>6} undone{f', {kept} kept' if kept else ''}")
    kept_rows = [row for row in rows if row["state"] != "planned"]
    if kept_rows:
        lines += ["", *_said(kept_rows)]
    return "\n".join(lines)


def _counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for kind, name in NAMES.items():
        found = [row["state"] for row in rows if row["kind"] == kind]
        told = [f"{found.count(state):,} {state}" for state in STATES if state in found]
        if told:
            yield from _wrapped(f"  {name:<18}{', '.join(told)}", " " * 20)
    if not any(row["kind"] in NAMES for row in rows):
        yield "  nothing was found"


def _has_something_to_say(row: Mapping[str, Any]) -> bool:
    return bool(row["reason"]) or row["state"] not in PLAIN


def _said(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Items with one reason together, so that a thousand of them are one line and a number."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["state"], row["kind"], row["reason"]), []).append(row)
    order = {state: number for number, state in enumerate(reversed(STATES))}
    for (state, kind, reason), found in sorted(groups.items(), key=lambda one: order[one[0][0]]):
        name = NAMES.get(kind, kind).partition(",")[0]
        many = f" ({len(found):,})" if len(found) > 1 else ""
        yield from _wrapped(f"{state}, {name}{many}: {reason}", "  ")
        places = list(dict.fromkeys(map(_place, found)))
        more = f" and {len(places) - MOST:,} more" if len(places) > MOST else ""
        yield from _wrapped(f"  {', '.join(places[:MOST])}{more}", "    ")


def _place(row: Mapping[str, Any]) -> str:
    return str(row["source"]).partition(": ")[2]


def _wrapped(text: str, indent: str) -> list[str]:
    """Lines of at most :data:`WIDTH` columns; what a terminal would obey is shown as it is."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    first = len(shown) - len(shown.lstrip())
    return textwrap.wrap(
        shown.lstrip(),
        WIDTH,
        initial_indent=" " * first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    ) or [""]
