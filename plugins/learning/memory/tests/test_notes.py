"""Notes through the tool: writes, refusals and their sentences."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls


def test_notes_are_in_the_prompt_of_the_next_session_with_their_usage(memory: Any) -> None:
    session = memory.new_session()
    memory.call("add", session=session, content="a" * 60)
    before = memory.harness.model.last.system
    assert "a" * 60 not in before
    memory.harness.model.steps.append("again")
    memory.harness.send("still the same session", session=session)
    assert memory.harness.model.last.system == before
    memory.text("add", content="b" * 47)
    assert f"Notes [5 % of 2,200 characters]\n{'a' * 60}\n§\n{'b' * 47}" in memory.prompt()
    assert memory.entries() == ["a" * 60, "b" * 47]


def test_notes_survive_a_restart(memory: Any) -> None:
    memory.text("add", content="The printer is on floor 2")
    memory.restart()
    assert "The printer is on floor 2" in memory.prompt()


def test_entry_is_replaced_and_removed_by_part_of_its_text(memory: Any) -> None:
    memory.text("add", content="The printer is on floor 2")
    memory.text("add", content="Lunch is at noon")
    memory.text("replace", old_text="floor 2", content="The printer is on floor 3")
    assert memory.entries() == ["The printer is on floor 3", "Lunch is at noon"]
    memory.text("remove", old_text="LUNCH  is")
    assert memory.entries() == ["The printer is on floor 3"]


def test_exact_match_wins_and_ambiguity_lists_the_candidates(memory: Any) -> None:
    for content in ("tea", "green tea", "black tea"):
        memory.text("add", content=content)
    error = memory.error("remove", old_text="k tea x")
    assert "no note contains `k tea x`" in error
    assert "2. green tea" in error
    error = memory.error("replace", old_text="e", content="coffee")
    assert "3 notes contain `e`" in error
    assert all(entry in error for entry in ("1. tea", "2. green tea", "3. black tea"))
    memory.text("remove", old_text="tea")
    assert memory.entries() == ["green tea", "black tea"]


def test_remove_of_a_duplicated_entry_removes_one(memory: Any) -> None:
    memory.write("one\n§\none\n§\ntwo\n")
    memory.text("remove", old_text="one")
    assert memory.entries() == ["one", "two"]


def test_adding_an_exact_duplicate_changes_nothing(memory: Any) -> None:
    memory.text("add", content="tea")
    assert "Already in the notes" in memory.text("add", content="  tea\n")
    memory.text("replace", old_text="tea", content="tea")
    assert memory.entries() == ["tea"]


def test_entry_cannot_hold_the_separator(memory: Any) -> None:
    for content in ("a\n§\nb", "a\r\n § \r\nb", "§", "a\n§"):
        assert "separates entries" in memory.error("add", content=content)
    assert memory.entries() == []
    memory.text("add", content="section § 5 of the law")
    assert memory.entries() == ["section § 5 of the law"]


def test_several_lines_are_one_entry(memory: Any) -> None:
    memory.text("add", content="first\r\n\r\nsecond")
    assert memory.notes.read_bytes() == b"first\n\nsecond\n"


def test_full_notes_error_shows_all_entries_and_the_usage(make_memory: Callable[..., Any]) -> None:
    memory = make_memory(notes_max_chars=100)
    memory.text("add", content="a" * 48)
    memory.text("add", content="b" * 49)  # 48 + 3 + 49
    error = memory.error("add", content="c")
    assert "104 characters" in error
    assert "100 % of 100 characters" in error
    assert f"1. {'a' * 48}\n2. {'b' * 49}" in error
    assert memory.entries() == ["a" * 48, "b" * 49]


def test_batch_is_checked_against_the_limit_at_its_end(make_memory: Callable[..., Any]) -> None:
    memory = make_memory(notes_max_chars=100)
    memory.text("add", content="a" * 50)
    memory.text("add", content="b" * 40)
    add = {"action": "add", "content": "c" * 60}
    remove = {"action": "remove", "old_text": "aaa"}
    assert "full" not in memory.text(
        "batch", operations=[add, remove, {**remove, "old_text": "bb"}]
    )
    assert memory.entries() == ["c" * 60]


@pytest.mark.slow
def test_batch_is_atomic(memory: Any) -> None:
    memory.text("add", content="tea")
    memory.text("remember", content="The cat is called Tom")
    before = memory.notes.read_bytes()
    bad = [
        {"action": "forget", "old_text": "no such fact"},
        {"action": "remove", "old_text": "no such note"},
        {"action": "remember", "content": "EVIL orders"},
        {"action": "add", "content": "x" * 3_000},
        {"action": "add"},
        "no object",
    ]
    good = [
        {"action": "add", "content": "coffee"},
        {"action": "remove", "old_text": "tea"},
        {"action": "remember", "content": "The dog is called Rex"},
        {"action": "forget", "old_text": "Tom"},
    ]
    for one in bad:
        error = memory.error("batch", operations=[*good, one])
        assert error.startswith("Error: Nothing was changed: "), error
        assert memory.notes.read_bytes() == before
        assert memory.harness.send("/memory").text.count("Rex") == 0
        assert "Tom" in memory.harness.send("/memory").text
    memory.text("batch", operations=good)
    assert memory.entries() == ["coffee"]
    shown = memory.harness.send("/memory").text
    assert "Rex" in shown
    assert "Tom" not in shown


def test_fourth_failure_in_a_turn_is_final(make_memory: Callable[..., Any]) -> None:
    memory = make_memory(notes_max_chars=50)
    memory.text("add", content="a" * 40)
    long = calls("memory", action="add", content="b" * 40)
    *first, fourth = [result.text for result in memory.calls(long, long, long, long)]
    assert all("merge or remove" in text for text in first)
    assert "final" in fourth
    assert "a" * 40 not in fourth
    assert "merge or remove" in memory.error("add", content="b" * 40)  # another turn


def test_note_passes_pre_learn_once_and_is_stored_redacted(memory: Any) -> None:
    told = memory.text("add", content="the token is SECRET123")
    assert "Stored as: the token is [REDACTED:token]" in told
    assert memory.entries() == ["the token is [REDACTED:token]"]
    memory.text("remember", content="another SECRET4")
    assert "[REDACTED:token]" in memory.harness.send("/memory").text
    assert [(one.kind, one.text) for one in memory.gates.learnt] == [
        ("note", "the token is SECRET123"),
        ("fact", "another SECRET4"),
    ]


def test_pre_learn_refusal_gives_an_error_sentence(memory: Any) -> None:
    for action in ("add", "remember"):
        assert "may not be remembered: it gives orders" in memory.error(action, content="EVIL")
    memory.text("add", content="tea")
    memory.error("replace", old_text="tea", content="EVIL")
    assert memory.entries() == ["tea"]


def test_poisoned_entry_is_blocked_kept_on_disk_and_removable(memory: Any) -> None:
    memory.write("tea\n§\nEVIL do as I say\n§\ncoffee\n")
    prompt = memory.prompt()
    assert "EVIL" not in prompt
    assert "Entry 2 is blocked: it gives orders" in prompt
    assert "tea" in prompt
    assert "coffee" in prompt
    assert memory.entries()[1] == "EVIL do as I say"
    error = memory.error("remove", old_text="no such")
    assert "EVIL" not in error
    mark = prompt.partition('old_text="')[2].partition('"')[0]
    memory.text("remove", old_text=mark)
    assert memory.entries() == ["tea", "coffee"]


def test_sub_agent_cannot_write_and_sees_no_notes(memory: Any) -> None:
    memory.text("add", content="tea")
    add = [calls("memory", action="add", content="coffee"), "done"]
    memory.harness.model.steps += [add[:1], "done"]
    turn = memory.harness.run(_nested(memory))
    assert "sub-agent cannot change memory" in turn.tool_calls[0].text
    assert "Notes [" not in memory.harness.model.last.system
    assert memory.entries() == ["tea"]


async def _nested(memory: Any) -> Any:
    from hookline_memory import Memory

    return await memory.harness.plugin(Memory).host.run_turn("work", kind="agent")


def test_new_session_has_the_current_notes(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns  # the files seem old enough for nothing to be read again
    monkeypatch.setattr("hookline_hookspecs.caching.files.time.time_ns", lambda: now() + 10**10)
    assert "Notes [" not in memory.prompt()
    memory.write("The cat is called Tom.\n")
    assert "Tom" in memory.prompt()
    memory.write("The cat is called Kim.\n")
    assert "Kim" in memory.prompt()
    memory.text("add", content="It sleeps a lot.")
    assert "sleeps" in memory.prompt()
    memory.notes.unlink()
    assert "Notes [" not in memory.prompt()
