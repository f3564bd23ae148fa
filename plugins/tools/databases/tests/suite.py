"""The two suites that every engine passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from .conftest import DatabaseChat

REFUSED = ("Denied: ", "Error: ")
EVIL = Path("/tmp")
"""Where hostile statements try to leave something named ``hookline-evil``."""


def assert_nothing_changes(
    make_chat: DatabaseChat, hostile: Iterable[str], state: Callable[[], object]
) -> dict[str, str]:
    """Ask every statement: none runs, none changes ``state()``, none stops the next question."""
    before = state()
    found, wrong = {}, []
    for sql in hostile:
        found[sql] = make_chat.query(sql)
        if not found[sql].startswith(REFUSED):
            wrong.append(f"it ran: {sql!r}: {found[sql][:200]}")
        if (after := state()) != before:
            wrong.append(f"it changed something: {sql!r}: {_differing(before, after)}")
            before = after
    assert not wrong, "\n".join(wrong)
    assert not list(EVIL.glob("hookline-evil*"))
    return found


def _differing(before: object, after: object) -> str:
    """The first place in which two states differ."""
    old, new = str(before), str(after)
    place = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    return f"{old[max(place - 20, 0) : place + 80]} -> {new[max(place - 20, 0) : place + 80]}"


def assert_all_answered(make_chat: DatabaseChat, ordinary: Iterable[str]) -> None:
    """Ask every statement: none is refused, and none fails."""
    texts = {sql: make_chat.query(sql) for sql in ordinary}
    wrong = [f"{sql!r}: {text[:300]}" for sql, text in texts.items() if text.startswith(REFUSED)]
    assert not wrong, "\n".join(wrong)
