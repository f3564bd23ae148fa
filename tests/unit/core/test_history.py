"""Rewriting history, and dropping context once the prompt cache is cold."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel, calls
from hookline_hookspecs import (
    Compacted,
    Context,
    ContextBlock,
    Conversations,
    Message,
    ModelRequest,
    Plugin,
    Rewrite,
    Session,
    ToolResultBlock,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Harness]


class Shortens(Plugin[NoConfig]):
    """Replaces all but the last two messages by one, when a request says so."""

    heard: list[Any]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.heard = []
        host.signals.connect("compacted", lambda event, ctx=None: self.heard.append(event))

    @hookimpl
    def pre_compact(self, ctx: Context, session: Session) -> None:
        self.heard.append(session.id)

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        if request.purpose != "turn" or "shorten" not in ctx.turn.inbound.text:
            return None
        kept = len(ctx.history) - 1
        summary = Message.user("(summary)"), Message.assistant("(noted)")
        return replace(request, messages=await ctx.rewrite([Rewrite(0, kept, summary)]))

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
        return ContextBlock("seen", f"before {turn.inbound.text}")

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"


def texts(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


def test_rewritten_history_is_sent_from_then_on_and_after_restart(
    harness: Make, tmp_path: Path
) -> None:
    h = harness(Shortens, model=["one", "two", "three", "four"], home=tmp_path / "home")
    h.send("a")
    h.send("b")
    h.send("shorten c")
    assert texts(h.model.last) == ["(summary)", "(noted)", "shorten c"]
    h.send("d")
    later = ["(summary)", "(noted)", "shorten c", "three", "d"]
    assert texts(h.model.last) == later
    h.close()
    again = harness(Shortens, model=["five"], home=tmp_path / "home")
    again.send("e")
    assert texts(again.model.last) == [*later, "four", "e"]


def test_rewritten_messages_stay_searchable_and_exportable(harness: Make) -> None:
    h = harness(Shortens, model=["one", "two"])
    h.send("a")
    h.send("shorten b")
    stored = h.run(h.runtime.plugins.host("shortens").messages("test"))
    assert [message.text for message in stored] == ["a", "one", "shorten b", "two"]


def test_stored_messages_are_current_after_earlier_reads(harness: Make) -> None:
    h = harness(Shortens, model=["one", "two", "three", "four", "five"])
    host = h.runtime.plugins.host("shortens")

    def stored(session: str = "test") -> list[str]:
        return [message.text for message in h.run(host.messages(session))]

    assert stored() == []
    h.send("a")
    h.send("b")
    assert stored() == stored() == ["a", "one", "b", "two"]
    h.send("c")
    assert stored() == ["a", "one", "b", "two", "c", "three"]
    state = h.runtime.sessions.loaded("test")
    assert state is not None
    h.run(h.runtime.sessions.undo_turn(state))
    assert stored() == ["a", "one", "b", "two"]
    h.send("d")
    h.run(h.runtime.sessions.undo_turn(state))
    h.send("e")  # takes the numbers of what was undone
    assert stored("another") == []
    assert stored() == ["a", "one", "b", "two", "e", "five"]


def test_pre_compact_hook_precedes_rewrite_and_compacted_signal_follows(harness: Make) -> None:
    h = harness(Shortens, model=["one", "two", "three"])
    for text in ("a", "b", "shorten c"):
        h.send(text)
    heard = h.runtime.plugins.statuses["shortens"].plugin.heard
    assert heard[0] == "test"
    assert isinstance(heard[1], Compacted)
    assert (heard[1].before, heard[1].after) == (5, 3)


def test_rewrite_drops_old_context_and_keeps_that_of_the_running_turn(harness: Make) -> None:
    h = harness(Shortens, model=["one", "two", "three"])
    h.send("a")
    assert "before a" in h.model.last.messages[0].context
    h.send("b")
    assert "before a" in h.model.last.messages[0].context
    h.send("shorten c")
    assert [bool(message.context) for message in h.model.last.messages] == [False, False, True]


def test_undo_after_rewrite_removes_only_the_last_turn(harness: Make) -> None:
    h = harness(Shortens, model=["one", "two", "three", "four"])
    h.send("a")
    h.send("b")
    h.send("shorten c")
    assert "from the conversation" in h.send("/undo").text
    assert "No turn to undo" in h.send("/undo").text
    h.send("d")
    assert texts(h.model.last) == ["(summary)", "(noted)", "d"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([Rewrite(0, 9, (Message.user("x"),))], "cannot be replaced"),
        ([Rewrite(1, 1, (Message.user("x"),))], "cannot be replaced"),
        ([Rewrite(0, 2, (Message.user("x"),)), Rewrite(1, 2, (Message.user("x"),))], "overlap"),
        ([Rewrite(0, 1, ())], "cannot become 0"),
        ([Rewrite(0, 1, (Message.user("x"), Message.user("y")))], "cannot become 2"),
        ([Rewrite(2, 3, (Message.user("x"),))], "own user message"),
    ],
)
def test_invalid_rewrite_is_refused_with_a_reason(
    harness: Make, changes: list[Rewrite], words: str
) -> None:
    said: list[str] = []

    class Wrong(Plugin[NoConfig]):
        @hookimpl
        async def pre_model(self, ctx: Context, request: ModelRequest) -> None:
            if len(ctx.history) == 3:
                with pytest.raises(ValueError) as raised:  # noqa: PT011
                    await ctx.rewrite(changes)
                said.append(str(raised.value))

    h = harness(Wrong, model=["one", "two"])
    h.send("a")
    h.send("b")
    assert len(said) == 1
    assert words in said[0]
    assert texts(h.model.last) == ["a", "one", "b"]


def test_context_is_replayed_with_warm_cache_and_dropped_with_cold_cache(
    harness: Make, tmp_path: Path, clock: Any
) -> None:
    h = harness(Shortens, model=["one", "two", "three"], home=tmp_path / "home")
    h.send("a")
    h.send("b")
    assert "before a" in h.model.last.messages[0].context
    clock.ahead = 301.0
    h.send("c")
    assert [bool(message.context) for message in h.model.last.messages] == [False] * 4 + [True]
    h.close()
    again = harness(Shortens, model=["four"], home=tmp_path / "home")
    again.send("d")
    contexts = [bool(message.context) for message in again.model.last.messages]
    assert contexts == [False] * 4 + [True, False, True]


@pytest.mark.slow
def test_kill_during_rewrite_leaves_the_old_history(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from pathlib import Path
            sys.path.insert(0, sys.argv[2])
            from test_history import Shortens
            from hookline.testing import Harness
            h = Harness(Shortens, home=Path(sys.argv[1]), model=["one", "two"])
            h.send("a")
            h.send("shorten b")
            """
        )
    )
    home = tmp_path / "home"
    here = str(Path(__file__).parent)
    store = {name: value for name, value in os.environ.items() if name.endswith("_STORE")}
    done = subprocess.run(
        [sys.executable, str(script), str(home), here],
        env={"HOOKLINE_CRASH_AT": "mid-compaction", "PATH": "", **store},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr
    model = ScriptedModel(["two", "three"])
    h = Harness(Shortens, home=home, model=model)
    try:
        h.send("c")
        assert [texts(request) for request in model.requests] == [
            ["(summary)", "(noted)", "shorten b"],
            ["(summary)", "(noted)", "shorten b", "two", "c"],
        ]
    finally:
        h.close()


def test_rewrite_may_change_tool_results_of_the_running_turn(harness: Make) -> None:
    class Prunes(Plugin[NoConfig]):
        @hookimpl
        async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
            if len(ctx.history) != 5:
                return None
            old = ctx.history[2]
            pruned = replace(old, blocks=tuple(replace(b, text="(pruned)") for b in old.blocks))
            return replace(request, messages=await ctx.rewrite([Rewrite(2, 3, (pruned,))]))

    h = harness(Shortens, Prunes, model=[[calls("look")], [calls("look")], "done", "next"])
    h.send("a")
    h.send("b")
    results = [
        m.blocks[0].text for m in h.model.last.messages if isinstance(m.blocks[0], ToolResultBlock)
    ]
    assert results == ["(pruned)", "seen"]


def test_imported_conversation_starts_a_session(harness: Make) -> None:
    h = harness(model=["blue, you said"])
    conversations: Conversations = h.runtime.dispatcher
    record = Session("moved", "terminal", "default", None, time.time())
    said = [Message.user("my colour is blue"), Message.assistant("noted")]
    assert h.run(conversations.begin(record, said))
    assert not h.run(conversations.begin(record, [Message.user("another past")]))
    assert h.send("which colour?", session="moved").text == "blue, you said"
    sent = [message.text for message in h.model.requests[0].messages]
    assert sent == ["my colour is blue", "noted", "which colour?"]
    stored = h.run(h.runtime.sessions.stored_messages("moved"))
    assert [one.text for one in stored] == [*sent, "blue, you said"]


def test_archived_conversation_is_stored_as_ended(harness: Make) -> None:
    h = harness(model=["new", "blue, you said"])
    conversations: Conversations = h.runtime.dispatcher
    record = Session("moved", "terminal", "default", "Colours", 1000.0)
    said = [(1000.0, Message.user("my colour is blue")), (1010.0, Message.assistant("noted"))]
    assert h.run(conversations.archive(record, said, 1020.0))
    assert not h.run(conversations.archive(record, [], 2000.0))
    rows = h.run(h.runtime.engine.journal.sessions())
    assert [(row["id"], row["updated"], row["ended"]) for row in rows] == [
        ("moved", 1020.0, 1020.0)
    ]
    with closing(sqlite3.connect(h.home / "hookline.db")) as database:
        stored = database.execute("SELECT created, text FROM messages ORDER BY seq").fetchall()
    assert stored == [(1000.0, "my colour is blue"), (1010.0, "noted")]
    assert h.send("hello").turn.session.id != "moved"  # it is nobody's current conversation
    h.run(conversations.reopen("moved"))
    assert h.send("which colour?", session="moved").text == "blue, you said"
    sent = h.model.requests[-1]
    assert [message.text for message in sent.messages][:2] == ["my colour is blue", "noted"]
    assert sent.system == h.model.requests[0].system  # it got a prompt as it was reopened
