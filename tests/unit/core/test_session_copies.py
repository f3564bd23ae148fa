"""A copy of a session: a chat like any other, with what plugins have stored about the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import HooklineError, Plugin, Session, SessionBranches, Turn, hookimpl
from hookline_hookspecs.conversations import SessionCopyListener

Make = Callable[..., Any]


class Notes(Plugin):
    """Keeps a note about each session; ``broken`` makes it refuse copies."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.notes: dict[str, str] = {}
        self.turns: list[Session] = []
        self.broken = False
        host.services.add(SessionCopyListener, self)

    async def session_copied(self, session: Session, copy: Session) -> None:
        if self.broken:
            raise HooklineError("no copies today")
        self.notes[copy.id] = f"{self.notes.get(session.id, '')} in {copy.channel}:{copy.chat_id}"

    @hookimpl
    def start_of_turn(self, ctx: Any, turn: Turn) -> None:
        self.turns.append(turn.session)


def copy(h: Any, session: str, new: str) -> bool:
    branches = h.runtime.engine.services[SessionBranches]
    return bool(h.run(branches.copy(session, new, ("terminal", "default"))))


def test_copy_is_no_sub_agent_and_has_what_plugins_stored(harness: Make) -> None:
    h = harness(Notes, model=["one", "two"])
    h.send("hello")
    notes = h.plugin(Notes)
    (original,) = notes.turns
    notes.notes[original.id] = "careful"
    assert copy(h, original.id, "copy")
    assert notes.notes["copy"] == "careful in terminal:default"
    h.send("again", session="copy")
    turn = notes.turns[-1]
    assert (turn.id, turn.kind, turn.parent_id) == ("copy", "chat", None)
    assert [m.role for m in h.model.last.messages] == ["user", "assistant", "user"]


def test_session_is_not_copied_if_a_plugin_refuses(harness: Make) -> None:
    h = harness(Notes, model=["one"])
    h.send("hello")
    notes = h.plugin(Notes)
    notes.broken = True
    with pytest.raises(HooklineError, match="no copies today"):
        copy(h, notes.turns[0].id, "copy")
    notes.broken = False
    assert not copy(h, "nothing", "other")
    assert "other" not in notes.notes
