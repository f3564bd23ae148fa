"""Formats the report: counts by kind, then items with a reason, within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 79
MAX_NAMED_ITEMS = 8
"""Items named for one kind and reason; further ones are only counted."""
KIND_NAMES: Mapping[str, str] = {
    "note": "notes",
    "user": "user profiles",
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
"""Names of the kinds, in the order of the report."""
STATES = ("planned", "migrated", "archived", "skipped", "conflict", "blocked", "error")
PLAIN = ("planned", "migrated")


def format_report(rows: Sequence[Mapping[str, Any]], heading: str) -> str:
    """Return the report of a plan or an import."""
    lines = [heading, ""]
    lines += _count_lines(rows)
    left = [row for row in rows if row["kind"] not in KIND_NAMES]
    reasons = [row for row in rows if row["kind"] in KIND_NAMES and _has_something_to_say(row)]
    if reasons:
        lines += ["", *_grouped_lines(reasons)]
    if left:
        lines += ["", "Not imported"]
        for row in left:
            lines += _wrap(f"  {_item_place(row)}: {row['reason']}", "    ")
    return "\n".join(lines)


def format_undo(rows: Sequence[Mapping[str, Any]], heading: str) -> str:
    """Return the report of an undo."""
    lines = [heading, ""]
    for kind, name in KIND_NAMES.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        gone = sum(row["state"] == "planned" for row in of_kind)
        if of_kind:
            kept = len(of_kind) - gone
            lines.append(f"  {name:<18}{gone:>6} undone{f', {kept} kept' if kept else ''}")
    kept_rows = [row for row in rows if row["state"] != "planned"]
    if kept_rows:
        lines += ["", *_grouped_lines(kept_rows)]
    return "\n".join(lines)


def _count_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for kind, name in KIND_NAMES.items():
        found = [row["state"] for row in rows if row["kind"] == kind]
        counts = [f"{found.count(state):,} {state}" for state in STATES if state in found]
        if counts:
            yield from _wrap(f"  {name:<18}{', '.join(counts)}", " " * 20)
    if not any(row["kind"] in KIND_NAMES for row in rows):
        yield "  nothing found"


def _has_something_to_say(row: Mapping[str, Any]) -> bool:
    return bool(row["reason"]) or row["state"] not in PLAIN


def _grouped_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Group items by reason, so that a thousand of them take one line and a number."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["state"], row["kind"], row["reason"]), []).append(row)
    order = {state: number for number, state in enumerate(reversed(STATES))}
    for (state, kind, reason), found in sorted(groups.items(), key=lambda one: order[one[0][0]]):
        name = KIND_NAMES.get(kind, kind).partition(",")[0]
        many = f" ({len(found):,})" if len(found) > 1 else ""
        yield from _wrap(f"{state}, {name}{many}: {reason}", "  ")
        places = list(dict.fromkeys(map(_item_place, found)))
        hidden = len(places) - MAX_NAMED_ITEMS
        more = f" and {hidden:,} more" if hidden > 0 else ""
        yield from _wrap(f"  {', '.join(places[:MAX_NAMED_ITEMS])}{more}", "    ")


def _item_place(row: Mapping[str, Any]) -> str:
    return str(row["source"]).partition(": ")[2]


def _wrap(text: str, indent: str) -> list[str]:
    """Wrap at :data:`WIDTH` columns; control characters are replaced."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    first = len(shown) - len(shown.lstrip())
    return textwrap.wrap(
        shown.lstrip(),
        WIDTH,
        initial_indent=" " * first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    ) or [""]
