"""``hookline memory list|log|undo``: changes are traced and can be undone exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs.chat_files import LearnedSource

from .conftest import DAY


def test_list_shows_everything_with_its_source(memory: Any, capsys: Any) -> None:
    assert "Nothing is remembered." in memory.cli(capsys, "list")
    memory.call("add", session="first", content="tea")
    memory.call("remember", session="second", content="The cat is old", category="profile")
    memory.write(memory.notes.read_text("utf-8") + "§\nby myself")
    rows = json.loads(memory.cli(capsys, "list", json=True))
    assert [(r["kind"], r["chat"], r["text"], r["session"], r["turn"]) for r in rows] == [
        ("note", "", "tea", "first", 1),
        ("note", "", "by myself", "", None),
        ("fact", "terminal:default", "The cat is old", "second", 1),
    ]
    assert rows[2]["category"] == "profile"
    text = memory.cli(capsys, "list")
    assert "session first, turn 1" in text
    assert "by hand" in text
    rows = json.loads(memory.cli(capsys, "list", json=True, chat="terminal:default"))
    assert [row["kind"] for row in rows] == ["fact"]
    assert "Nothing is remembered from telegram:1." in memory.cli(capsys, "list", chat="telegram:1")


@pytest.mark.slow
def test_undo_restores_exactly_and_can_be_undone(memory: Any, capsys: Any) -> None:
    for content in ("tea", "coffee", "cocoa"):
        memory.text("add", content=content)
    memory.text("remember", content="The cat is old", ttl_days=9)
    before = memory.cli(capsys, "list", json=True)
    memory.text(
        "batch",
        operations=[
            {"action": "remove", "old_text": "coffee"},
            {"action": "replace", "old_text": "tea", "content": "green tea"},
            {"action": "add", "content": "water"},
            {"action": "forget", "old_text": "cat"},
            {"action": "remember", "content": "The dog is young"},
        ],
    )
    after = memory.cli(capsys, "list", json=True)
    newest = json.loads(memory.cli(capsys, "log", json=True, limit=1))[0]
    assert len(newest["changes"]) == 5
    said = memory.cli(capsys, "undo", number=newest["number"])
    assert _texts(memory.cli(capsys, "list", json=True)) == _texts(before)
    assert memory.entries() == ["tea", "coffee", "cocoa"]
    memory.cli(capsys, "undo", number=said.partition("undo ")[2].partition("`")[0])
    assert _texts(memory.cli(capsys, "list", json=True)) == _texts(after)
    log = json.loads(memory.cli(capsys, "log", json=True))
    assert [entry["undoes"] for entry in log[:2]] == [int(log[1]["number"]), int(newest["number"])]
    assert f"(undone by {log[1]['number']})" in memory.cli(capsys, "log")


def _texts(listed: str) -> list[Any]:
    return [(r["kind"], r["text"], r.get("id"), r.get("expires")) for r in json.loads(listed)]


@pytest.mark.slow
def test_undo_is_refused_after_a_later_change(memory: Any, capsys: Any) -> None:
    memory.text("add", content="tea")
    memory.text("replace", old_text="tea", content="coffee")
    memory.text("remember", content="The cat is old")
    memory.text("forget", old_text="cat")
    for number in ("1", "3"):
        assert "since" in _refused(memory, capsys, number)
    assert memory.entries() == ["coffee"]
    memory.cli(capsys, "undo", number="4")
    memory.cli(capsys, "undo", number="3")
    memory.cli(capsys, "undo", number="2")
    assert "undone by" in _refused(memory, capsys, "2")
    memory.cli(capsys, "undo", number="1")
    assert memory.entries() == []
    assert json.loads(memory.cli(capsys, "list", json=True)) == []


def _refused(memory: Any, capsys: Any, number: str) -> str:
    with pytest.raises(SystemExit) as caught:
        memory.cli(capsys, "undo", number=number)
    assert caught.value.code == 1
    return str(capsys.readouterr().err)


@pytest.mark.parametrize("number", ["7", "0", "x", "", "-1", "9" * 30, "nobody:1"])
def test_undo_of_an_unknown_number_gives_an_error_sentence(
    memory: Any, capsys: Any, number: str
) -> None:
    text = _refused(memory, capsys, number)
    assert text.startswith("hookline: ")
    assert text.endswith(".\n")


def test_merge_and_eviction_can_be_undone(make_memory: Callable[..., Any], capsys: Any) -> None:
    memory = make_memory(facts_max=1)
    memory.text("remember", content="The user prefers dark mode", category="profile")
    memory.text("remember", content="User prefers dark mode everywhere", category="profile")
    memory.cli(capsys, "undo", number="2")
    rows = json.loads(memory.cli(capsys, "list", json=True))
    assert [row["text"] for row in rows] == ["The user prefers dark mode"]
    memory.text("remember", content="An apple a day")
    assert memory.told("apple") == ["An apple a day"]
    memory.cli(capsys, "undo", number="4")
    assert memory.told("dark mode") == ["The user prefers dark mode"]
    assert memory.told("apple") == []


def test_undo_does_not_restore_an_expired_fact(
    memory: Any, capsys: Any, clock: Callable[[float], None]
) -> None:
    clock(0)
    memory.text("remember", content="The cat is old", ttl_days=1)
    memory.text("forget", old_text="cat")
    clock(2 * DAY)
    assert "has expired" in _refused(memory, capsys, "2")


def test_undo_that_would_overfill_the_notes_is_refused(
    make_memory: Callable[..., Any], capsys: Any
) -> None:
    memory = make_memory(notes_max_chars=60)
    memory.text("add", content="a" * 40)
    memory.text("remove", old_text="aa")
    memory.text("add", content="b" * 40)
    assert "would have 83 characters" in _refused(memory, capsys, "2")
    assert memory.entries() == ["b" * 40]


def test_log_is_kept_for_a_limited_time(
    make_memory: Callable[..., Any], capsys: Any, clock: Callable[[float], None]
) -> None:
    memory = make_memory(log_days=10)
    clock(0)
    memory.text("add", content="tea")
    clock(9 * DAY)
    memory.text("add", content="coffee")
    clock(11 * DAY)
    memory.job()
    (entry,) = json.loads(memory.cli(capsys, "log", json=True))
    assert entry["changes"][0]["after"] == "coffee"
    assert memory.entries() == ["tea", "coffee"]


def test_list_log_and_undo_include_other_plugins(memory: Any, capsys: Any) -> None:
    class Other:
        name = "other"

        async def list(self) -> Any:
            where = {"at": None, "session": "", "turn": None, "turn_id": ""}
            return [{"kind": "other", "chat": "fake:1", "text": "something", **where}]

        async def log(self, limit: int) -> Any:
            change = {"kind": "other", "op": "made", "before": None, "after": "something"}
            return [
                {"number": "other:5", "chat": "fake:1", "at": 1.0, "session": "", "turn": None}
                | {"changes": [change], "undone_by": None}
            ]

        async def undo(self, number: int) -> str:
            return f"other took {number} back"

    plugin = memory.gates
    plugin.host.services.add(LearnedSource, Other())
    assert "something" in memory.cli(capsys, "list")
    assert "other:5" in memory.cli(capsys, "log")
    assert "other took 5 back" in memory.cli(capsys, "undo", number="other:5")


def test_list_escapes_terminal_control_characters(memory: Any, capsys: Any) -> None:
    memory.write("a \x1b[31m red \u202e entry")
    text = memory.cli(capsys, "list")
    assert "\x1b" not in text
    assert "\\x1b[31m" in text
    assert "\u202e" not in text
