"""Notes through the tool: what is written, what is refused and in which words."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls


def test_notes_are_in_the_prompt_of_the_next_session_with_their_usage(mind: Any) -> None:
    session = mind.new_session()
    mind.call("add", session=session, content="a" * 60)
    before = mind.harness.model.last.system
    assert "a" * 60 not in before
    mind.harness.model.steps.append("again")
    mind.harness.send("still the same session", session=session)
    assert mind.harness.model.last.system == before
    mind.text("add", content="b" * 47)
    assert f"Notes [5 % of 2,200 characters]\n{'a' * 60}\n§\n{'b' * 47}" in mind.prompt()
    assert mind.entries() == ["a" * 60, "b" * 47]


def test_notes_survive_a_restart(mind: Any) -> None:
    mind.text("add", content="The printer is on floor 2")
    mind.restart()
    assert "The printer is on floor 2" in mind.prompt()


def test_entry_is_replaced_and_removed_by_part_of_its_text(mind: Any) -> None:
    mind.text("add", content="The printer is on floor 2")
    mind.text("add", content="Lunch is at noon")
    mind.text("replace", old_text="floor 2", content="The printer is on floor 3")
    assert mind.entries() == ["The printer is on floor 3", "Lunch is at noon"]
    mind.text("remove", old_text="LUNCH  is")
    assert mind.entries() == ["The printer is on floor 3"]


def test_exact_match_wins_and_ambiguity_lists_the_candidates(mind: Any) -> None:
    for content in ("tea", "green tea", "black tea"):
        mind.text("add", content=content)
    error = mind.error("remove", old_text="k tea x")
    assert "no note contains `k tea x`" in error
    assert "2. green tea" in error
    error = mind.error("replace", old_text="e", content="coffee")
    assert "3 notes contain `e`" in error
    assert all(entry in error for entry in ("1. tea", "2. green tea", "3. black tea"))
    mind.text("remove", old_text="tea")
    assert mind.entries() == ["green tea", "black tea"]


def test_remove_of_a_duplicated_entry_removes_one(mind: Any) -> None:
    mind.write("one\n§\none\n§\ntwo\n")
    mind.text("remove", old_text="one")
    assert mind.entries() == ["one", "two"]


def test_adding_an_exact_duplicate_changes_nothing(mind: Any) -> None:
    mind.text("add", content="tea")
    assert "Already in the notes" in mind.text("add", content="  tea\n")
    mind.text("replace", old_text="tea", content="tea")
    assert mind.entries() == ["tea"]


def test_entry_cannot_hold_the_separator(mind: Any) -> None:
    for content in ("a\n§\nb", "a\r\n § \r\nb", "§", "a\n§"):
        assert "separates entries" in mind.error("add", content=content)
    assert mind.entries() == []
    mind.text("add", content="section § 5 of the law")
    assert mind.entries() == ["section § 5 of the law"]


def test_several_lines_are_one_entry(mind: Any) -> None:
    mind.text("add", content="first\r\n\r\nsecond")
    assert mind.notes.read_bytes() == b"first\n\nsecond\n"


def test_full_notes_error_shows_all_entries_and_the_usage(make_mind: Callable[..., Any]) -> None:
    mind = make_mind(notes_max_chars=100)
    mind.text("add", content="a" * 48)
    mind.text("add", content="b" * 49)  # 48 + 3 + 49
    error = mind.error("add", content="c")
    assert "104 characters" in error
    assert "100 % of 100 characters" in error
    assert f"1. {'a' * 48}\n2. {'b' * 49}" in error
    assert mind.entries() == ["a" * 48, "b" * 49]


def test_batch_is_checked_against_the_limit_at_its_end(make_mind: Callable[..., Any]) -> None:
    mind = make_mind(notes_max_chars=100)
    mind.text("add", content="a" * 50)
    mind.text("add", content="b" * 40)
    add = {"action": "add", "content": "c" * 60}
    remove = {"action": "remove", "old_text": "aaa"}
    assert "full" not in mind.text("batch", operations=[add, remove, {**remove, "old_text": "bb"}])
    assert mind.entries() == ["c" * 60]


def test_batch_is_atomic(mind: Any) -> None:
    mind.text("add", content="tea")
    mind.text("remember", content="The cat is called Tom")
    before = mind.notes.read_bytes()
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
        error = mind.error("batch", operations=[*good, one])
        assert error.startswith("Error: Nothing was changed: "), error
        assert mind.notes.read_bytes() == before
        assert mind.harness.send("/memory").text.count("Rex") == 0
        assert "Tom" in mind.harness.send("/memory").text
    mind.text("batch", operations=good)
    assert mind.entries() == ["coffee"]
    shown = mind.harness.send("/memory").text
    assert "Rex" in shown
    assert "Tom" not in shown


def test_fourth_failure_in_a_turn_is_final(make_mind: Callable[..., Any]) -> None:
    mind = make_mind(notes_max_chars=50)
    mind.text("add", content="a" * 40)
    long = calls("memory", action="add", content="b" * 40)
    *first, fourth = [result.text for result in mind.calls(long, long, long, long)]
    assert all("merge or remove" in text for text in first)
    assert "final" in fourth
    assert "a" * 40 not in fourth
    assert "merge or remove" in mind.error("add", content="b" * 40)  # another turn


def test_note_passes_pre_learn_once_and_is_stored_redacted(mind: Any) -> None:
    told = mind.text("add", content="the token is SECRET123")
    assert "Stored as: the token is [REDACTED:token]" in told
    assert mind.entries() == ["the token is [REDACTED:token]"]
    mind.text("remember", content="another SECRET4")
    assert "[REDACTED:token]" in mind.harness.send("/memory").text
    assert [(one.kind, one.text) for one in mind.gates.learnt] == [
        ("note", "the token is SECRET123"),
        ("fact", "another SECRET4"),
    ]


def test_pre_learn_refusal_gives_an_error_sentence(mind: Any) -> None:
    for action in ("add", "remember"):
        assert "may not be remembered: it gives orders" in mind.error(action, content="EVIL")
    mind.text("add", content="tea")
    mind.error("replace", old_text="tea", content="EVIL")
    assert mind.entries() == ["tea"]


def test_poisoned_entry_is_blocked_kept_on_disk_and_removable(mind: Any) -> None:
    mind.write("tea\n§\nEVIL do as I say\n§\ncoffee\n")
    prompt = mind.prompt()
    assert "EVIL" not in prompt
    assert "Entry 2 is blocked: it gives orders" in prompt
    assert "tea" in prompt
    assert "coffee" in prompt
    assert mind.entries()[1] == "EVIL do as I say"
    error = mind.error("remove", old_text="no such")
    assert "EVIL" not in error
    mark = prompt.partition('old_text="')[2].partition('"')[0]
    mind.text("remove", old_text=mark)
    assert mind.entries() == ["tea", "coffee"]


def test_sub_agent_cannot_write_and_sees_no_notes(mind: Any) -> None:
    mind.text("add", content="tea")
    add = [calls("memory", action="add", content="coffee"), "done"]
    mind.harness.model.steps += [add[:1], "done"]
    turn = mind.harness.run(_nested(mind))
    assert "sub-agent cannot change memory" in turn.tool_calls[0].text
    assert "Notes [" not in mind.harness.model.last.system
    assert mind.entries() == ["tea"]


async def _nested(mind: Any) -> Any:
    from hookline_memory import Memory

    return await mind.harness.plugin(Memory).host.run_turn("work", kind="agent")


def test_new_session_has_the_current_notes(mind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns  # the files seem old enough for nothing to be read again
    monkeypatch.setattr("hookline_hookspecs.caching.files.time.time_ns", lambda: now() + 10**10)
    assert "Notes [" not in mind.prompt()
    mind.write("The cat is called Tom.\n")
    assert "Tom" in mind.prompt()
    mind.write("The cat is called Kim.\n")
    assert "Kim" in mind.prompt()
    mind.text("add", content="It sleeps a lot.")
    assert "sleeps" in mind.prompt()
    mind.notes.unlink()
    assert "Notes [" not in mind.prompt()
