"""The index follows new, undone and deleted messages in every process of a home."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, ContextBlock, Inspection, Job, Plugin, Turn, hookimpl, tool
from hookline_session_search import SessionSearch
from hookline_session_search.index import BATCH_MESSAGES

Make = Callable[..., Harness]
SHADOWS = ("content", "data", "docsize", "idx")
CANARY = "canaryzzq"


def inspection(h: Harness) -> Inspection:
    """The service that the command line uses."""
    return h.plugin(SessionSearch).host.services[Inspection]


def rows(home: Path, sql: str, *params: Any) -> list[Any]:
    """Rows as another program reads them."""
    with closing(sqlite3.connect(home / "hookline.db")) as db:
        return db.execute(sql, params).fetchall()


def left_of(home: Path, word: str) -> list[str]:
    """Tables of the full-text index that hold ``word``, or its end: terms share prefixes."""
    found = []
    for shadow in SHADOWS:
        for row in rows(home, f"SELECT * FROM session_search_texts_{shadow}"):
            cells = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
            if any(word.encode()[4:] in cell for cell in cells):
                found.append(shadow)
    return found


def jobs(h: Harness) -> dict[str, Job]:
    """The plugin's jobs by name."""
    return {job.name: job for _, job in h.plugin(SessionSearch).host.registered(Job)}


def missing(home: Path) -> int:
    """How many messages are not indexed."""
    counts = "(SELECT count(*) FROM messages) - (SELECT count(*) FROM session_search_messages)"
    return int(rows(home, f"SELECT {counts}")[0][0])


def index_all(h: Harness) -> None:
    """Run the job until nothing is missing."""
    h.run(jobs(h)["index"].run())
    while missing(h.home):
        h.run(jobs(h)["index"].run())


def fill(home: Path, count: int, session: str = "old", text: str = "message {}") -> None:
    """Messages from before the plugin was there, written as core does."""
    with closing(sqlite3.connect(home / "hookline.db")) as db:
        db.execute(
            "INSERT OR IGNORE INTO sessions (id, channel, chat_id, model, system, tools, workspace,"
            " parts, created, updated) VALUES (?, 'terminal', 'default', '', '', '[]', '', '[]', 1,"
            " 1)",
            (session,),
        )
        db.executemany(
            "INSERT INTO messages VALUES (?, ?, 'turn', 'user', '{}', ?, ?)",
            [(session, 1000 + n, text.format(n), float(n + 1)) for n in range(count)],
        )
        db.commit()


def test_undone_turn_is_not_found(talk: Any) -> None:
    talk.say(f"the {CANARY} sings")
    talk.say("and so on")
    assert len(talk.found(CANARY)) == 1
    talk.h.send("/undo", session="old")
    talk.h.send("/undo", session="old")
    assert talk.found(CANARY) == []
    talk.say("what was said in its place")
    assert talk.found("in its place") == ["what was said in its place"]
    assert talk.found(CANARY) == []


def test_retried_turn_is_found_once(talk: Any) -> None:
    talk.say(f"the {CANARY} sings")
    talk.h.model.steps[:] = ["another answer"]
    talk.h.send("/retry", session="old")
    assert talk.found(CANARY) == [f"the {CANARY} sings"]
    assert talk.found("another") == ["another answer"]


@pytest.mark.slow
def test_deleted_session_leaves_nothing_in_the_index(talk: Any) -> None:
    for number in range(30):
        talk.say(f"filler {number}", session=f"s{number % 3}")
    talk.say(f"the {CANARY} sings", session="gone")
    talk.say("more", session="gone")
    index_all(talk.h)
    assert left_of(talk.h.home, CANARY)
    talk.h.run(inspection(talk.h).delete_session("gone"))
    assert left_of(talk.h.home, CANARY) == []
    assert (
        rows(talk.h.home, "SELECT * FROM session_search_messages WHERE session_id = 'gone'") == []
    )
    assert rows(talk.h.home, "SELECT * FROM session_search_sessions WHERE id = 'gone'") == []
    assert talk.found(CANARY) == []
    assert len(talk.found("filler", limit=20)) == 20


@pytest.mark.slow
def test_session_deleted_while_the_plugin_is_off_leaves_nothing(
    talk: Any, harness: Make, talk_in: Any
) -> None:
    talk.say(f"the {CANARY} sings")
    talk.search("sings")
    talk.h.close()
    other = harness(_Other, home=talk.h.home)
    other.run(other.plugin(_Other).host.services[Inspection].delete_session("old"))
    assert left_of(talk.h.home, CANARY) == []
    assert talk_in(talk.h.home).found(CANARY) == []


class _Other(Plugin):
    """A home without the search."""


@pytest.mark.slow
def test_deletion_from_a_large_index_runs_in_the_background(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send(f"the {CANARY} sings", session="gone")
    before.close()
    fill(before.home, 9000, text="{0} " + " ".join(f"w{n}x{{0}}" for n in range(60)))
    talk = talk_in(before.home)
    index_all(talk.h)
    talk.h.run(inspection(talk.h).delete_session("gone"))
    assert rows(before.home, "SELECT * FROM session_search_deleted") == [("gone",)]
    assert talk.found(CANARY) == []
    talk.say("a moment after the next turn it is tidied up", session="new")

    async def tidied() -> None:
        while rows(before.home, "SELECT * FROM session_search_deleted"):
            await asyncio.sleep(0.02)

    talk.h.run(tidied())
    assert left_of(before.home, CANARY) == []
    assert len(talk.found("w7x8999")) == 1


def test_messages_of_another_process_are_indexed(talk: Any, talk_in: Any) -> None:
    other = talk_in(talk.h.home)
    talk.say("first alpha")
    other.say("second alpha", session="elsewhere")
    assert set(talk.found("alpha")) == {"first alpha", "second alpha"}
    assert set(other.found("alpha")) == {"first alpha", "second alpha"}
    other.h.send("/undo", session="elsewhere")
    assert talk.found("alpha") == ["first alpha"]
    other.h.run(inspection(other.h).delete_session("elsewhere"))
    talk.say("third alpha")
    assert set(other.found("alpha")) == {"first alpha", "third alpha"}


def test_message_just_stored_by_another_process_is_found(talk: Any, harness: Make) -> None:
    talk.say("first")
    silent = harness(_Other, home=talk.h.home, model=["noted"])
    silent.send("the wombat digs", session="elsewhere")
    assert talk.found("wombat") == ["the wombat digs"]


def test_two_processes_can_index_the_same_messages(talk: Any, talk_in: Any) -> None:
    talk.say("first")
    fill(talk.h.home, 3 * BATCH_MESSAGES)
    other = talk_in(talk.h.home)
    other.h.runtime  # noqa: B018 - opens it

    async def both() -> None:
        mine, theirs = (jobs(one.h)["index"].run for one in (talk, other))
        loop = asyncio.get_running_loop()
        theirs_too = loop.run_in_executor(None, lambda: other.h.run(theirs()))
        await asyncio.gather(mine(), theirs_too)

    talk.h.run(both())
    [[messages]] = rows(talk.h.home, "SELECT count(*) FROM messages")
    [[indexed]] = rows(talk.h.home, "SELECT count(*) FROM session_search_messages")
    [[texts]] = rows(talk.h.home, "SELECT count(*) FROM session_search_texts")
    assert indexed == texts == messages


@pytest.mark.slow
def test_old_messages_are_indexed_newest_first(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send("the plugin is not there yet", session="old")
    before.close()
    fill(before.home, 30 * BATCH_MESSAGES)
    talk = talk_in(before.home)
    talk.say("now it is there", session="new")
    assert talk.found(f"message {30 * BATCH_MESSAGES - 1}")  # at once
    index_all(talk.h)
    assert talk.found("not there yet") == ["the plugin is not there yet"]
    assert len(talk.found("message 0")) == 1


@pytest.mark.slow
def test_incomplete_index_adds_a_note_to_results(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send("early", session="old")
    before.close()
    fill(before.home, 60 * BATCH_MESSAGES)
    talk = talk_in(before.home)
    result = talk.search("message")
    assert "Note: older messages are still being indexed" in result.text
    assert result.data


@pytest.mark.slow
def test_index_is_filled_in_the_background(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send("early", session="old")
    before.close()
    fill(before.home, 25 * BATCH_MESSAGES)
    talk = talk_in(before.home)
    talk.say("hello", session="new")

    async def filled() -> None:
        while True:
            with suppress(sqlite3.OperationalError):  # the table is made by the first indexing
                if not missing(before.home):
                    return
            await asyncio.sleep(0.02)

    talk.h.run(filled())


def test_renumbered_rows_are_reindexed(talk: Any) -> None:
    for text in ("one alpha", "two alpha", "three alpha"):
        talk.say(text, session=text.split()[0])
    assert len(talk.found("alpha")) == 3
    talk.h.run(inspection(talk.h).delete_session("one"))
    talk.h.close()
    with closing(sqlite3.connect(talk.h.home / "hookline.db")) as db:
        db.execute("VACUUM")
    again = type(talk)(talk.h)
    again.say("four alpha", session="four")
    assert set(again.found("alpha")) == {"two alpha", "three alpha", "four alpha"}
    assert len(again.found("noted", limit=20)) == 3


def test_rows_deleted_without_foreign_keys_are_swept(talk: Any) -> None:
    talk.say(f"the {CANARY} sings")
    talk.say("something that stays", session="other")
    with closing(sqlite3.connect(talk.h.home / "hookline.db")) as db:
        db.execute("DELETE FROM messages WHERE session_id = 'old'")
        db.execute("DELETE FROM sessions WHERE id = 'old'")
        db.commit()
    assert talk.found(CANARY) == []
    assert (jobs(talk.h)["index"].at_start, jobs(talk.h)["sweep"].every) == (True, 86400)
    talk.h.run(jobs(talk.h)["sweep"].run())
    assert left_of(talk.h.home, CANARY) == []
    assert rows(talk.h.home, "PRAGMA foreign_key_check") == []
    assert talk.found("stays") == ["something that stays"]


def test_job_indexes_without_new_messages(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send("the wombat digs", session="old")
    before.close()
    talk = talk_in(before.home)
    talk.h.run(jobs(talk.h)["index"].run())
    assert rows(before.home, "SELECT count(*) FROM session_search_messages") == [(2,)]


def test_purge_leaves_nothing_and_core_keeps_working(
    talk: Any, harness: Make, talk_in: Any
) -> None:
    talk.say("the wombat digs")
    talk.search("wombat")
    talk.h.close()
    other = harness(_Other, home=talk.h.home, model=["noted", "noted"])
    other.run(other.plugin(_Other).host.services[Inspection].purge("session-search"))
    named = "SELECT name FROM sqlite_master WHERE name LIKE 'session_search%' OR sql LIKE ?"
    assert rows(talk.h.home, named, "%session_search%") == []
    assert other.send("go on", session="old").text == "noted"
    other.send("/undo", session="old")
    other.run(other.plugin(_Other).host.services[Inspection].delete_session("asking1"))
    other.close()
    assert talk_in(talk.h.home).found("wombat") == ["the wombat digs"]  # filled in anew


def test_only_conversations_of_people_are_searched(harness: Make, talk_in: Any) -> None:
    class Work(Plugin):
        @tool
        async def hand_over(self, ctx: Context) -> str:
            """Let a sub-agent work."""
            await self.host.run_turn("subwombat asks", parent=ctx)
            return "resultwombat"

        @hookimpl
        def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
            return ContextBlock("recalled-context", "contextwombat")

        @hookimpl
        async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
            if ctx.session.kind == "chat" and "review" in turn.inbound.text:
                await self.host.fork(ctx.session.id, "reviewwombat asks")

    talk = talk_in(harness(_Other).home, Work)
    talk.h.model.steps[:] = [calls("hand_over"), "subwombat answers", "wombat", "reviewwombat"]
    talk.h.send("please review", session="old")
    for hidden in ("subwombat", "resultwombat", "contextwombat", "reviewwombat"):
        assert talk.found(hidden) == [], hidden
    assert talk.found("wombat") == ["wombat"]


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_batches_of_any_size_leave_no_gap(
    talk: Any, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("hookline_session_search.index.BATCH_MESSAGES", batch)
    monkeypatch.setattr("hookline_session_search.index.MAX_BATCH_CHARS", 5)
    talk.h.runtime  # noqa: B018 - makes the tables
    fill(talk.h.home, 12, "a", "early {}")
    talk.say("now")
    index_all(talk.h)
    fill(talk.h.home, 12, "b", "late {}")
    assert len(talk.found("early", limit=20)) == 12
    assert len(talk.found("late", limit=20)) == 12


def test_index_is_written_by_searches_and_not_by_turns(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_session_search.plugin.INDEX_DELAY", 1000.0)
    talk.search("anything")  # makes the tables
    storage = type(talk.h.plugin(SessionSearch).host.storage)
    transact, written = storage.transact, []

    async def counted(self: Any, work: Any) -> Any:
        written.append(work)
        return await transact(self, work)

    monkeypatch.setattr(storage, "transact", counted)
    talk.say("the heron stands")
    talk.say("the heron flies", session="other")
    assert written == []
    assert set(talk.found("heron")) == {"the heron stands", "the heron flies"}
    assert written


@pytest.mark.slow
def test_deletion_of_most_sessions_keeps_the_index_right(harness: Make, talk_in: Any) -> None:
    before = harness(_Other, model=["noted"])
    before.send(f"the {CANARY} sings", session="gone")
    before.close()
    words = " ".join(f"w{n}x{{0}}" for n in range(20))
    for number in range(120):
        fill(before.home, 50, session=f"s{number}", text="{0} " + words)
    talk = talk_in(before.home)
    index_all(talk.h)
    delete = inspection(talk.h).delete_session
    for name in ("gone", *(f"s{number}" for number in range(119))):
        talk.h.run(delete(name))
    assert len(talk.found("w7x49")) == 1
    assert left_of(before.home, CANARY) == []
    kept = "SELECT count(*) FROM session_search_messages WHERE session_id = 's119'"
    assert rows(before.home, kept) == [(50,)]
    with closing(sqlite3.connect(before.home / "hookline.db")) as db:
        check = "INSERT INTO session_search_texts (session_search_texts) VALUES ('integrity-check')"
        db.execute(check)
