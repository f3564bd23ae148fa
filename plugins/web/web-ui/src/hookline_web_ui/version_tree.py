"""Which versions a chat has at which message, from the stored rows of its sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

Row = Mapping[str, Any]


def base_of(family: Iterable[Row], session_id: str, before: int) -> str:
    """Return the version whose own message a session has at ``before``, not a copy of it."""
    known = {row["id"]: row for row in family}
    while (row := known.get(session_id)) and row["base"] in known and before <= row["fork_seq"]:
        session_id = row["base"]
    return session_id


def versions_of(family: Sequence[Row], session_id: str) -> list[dict[str, Any]]:
    """Return the messages of a session that have versions.

    Each has its ``seq``, ``edited`` (or there are several answers), ``ids``: the session to open
    for each version, and ``current``: the index of the one that the session shows.
    """
    known = {row["id"]: row for row in family}
    found: list[dict[str, Any]] = []
    shown, limit, member = session_id, inf, session_id
    while member in known:
        branches = [row for row in family if row["base"] == member and row["fork_seq"] <= limit]
        for seq in {row["fork_seq"] for row in branches}:
            here = [row for row in branches if row["fork_seq"] == seq]
            options = [member, *(row["id"] for row in here)]
            current = options.index(shown if seq == limit else member)
            ids = [_newest(family, one, seq) for one in options]
            ids[current] = session_id
            edited = any(row["edited"] for row in here)
            found.append({"seq": seq, "edited": edited, "ids": ids, "current": current})
        row = known[member]
        if row["base"] is None:
            break
        shown, limit, member = member, row["fork_seq"], row["base"]
    return sorted(found, key=lambda one: int(one["seq"]))


def _newest(family: Sequence[Row], session_id: str, after: int) -> str:
    """Return the session used last among a version and those copied from it after a message."""
    updated = {row["id"]: row["updated"] for row in family}
    below, todo = [session_id], [(session_id, after)]
    while todo:
        base, least = todo.pop()
        for row in family:
            if row["base"] == base and row["fork_seq"] > least and row["id"] not in below:
                below.append(row["id"])
                todo.append((row["id"], -1))
    return max(below, key=lambda one: float(updated.get(one, 0)))
