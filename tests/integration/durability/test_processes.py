"""Several processes on one home: one at a time in a session, in parallel in several."""

from __future__ import annotations

import itertools
import threading

import pytest
from support.durability.computer import Computer, finish, line_of, paired
from support.durability.model_wires import Said, serving

ANSWER = "assistant: At last."
ROUNDS = 3


def notes(words: str | None) -> Said:
    """One writing tool call, then an answer."""
    return "Noted." if words is None else [("append", {"line": words})]


@pytest.mark.slow
def test_processes_on_one_session_do_not_interleave_turns(computer: Computer) -> None:
    names = ["first", "second", "third", "fourth"]
    with serving("anthropic", notes) as wire:
        computer.env |= wire.env
        done = computer.run_all([["run", name, "--session", "s"] for name in names])
        assert [(each.code, each.out) for each in done] == [(0, "Noted.\n")] * 4, done
        messages = computer.messages("s")
        assert paired(messages)
        assert len({m["turn"] for m in messages}) == len(names)
        assert len([turn for turn, _ in itertools.groupby(m["turn"] for m in messages)]) == 4
        assert sorted(computer.ran()) == sorted(f"append {name}" for name in names)
        assert wire.refused == []
    assert computer.is_whole()


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_on_many_sessions_lose_nothing(computer: Computer, crowd: int) -> None:
    sessions = [f"s{number}" for number in range(crowd)]
    with serving("anthropic", notes) as wire:
        computer.env |= wire.env
        for turn in range(ROUNDS):
            done = computer.run_all([["run", f"{s} {turn}", "--session", s] for s in sessions])
            assert [(each.code, each.out) for each in done] == [(0, "Noted.\n")] * crowd, done
        assert wire.refused == []
    assert computer.is_whole()
    assert computer.rows(
        "SELECT session_id, count(*), sum(state = 'done') FROM turns GROUP BY 1 ORDER BY 1"
    ) == [(session, ROUNDS, ROUNDS) for session in sessions]
    for session in sessions:
        said = [line_of(message) for message in computer.messages(session)]
        assert said[::4] == [f"user: {session} {turn}" for turn in range(ROUNDS)]
        assert said[3::4] == ["assistant: Noted."] * ROUNDS
    assert len(computer.ran()) == crowd * ROUNDS


@pytest.mark.slow
def test_session_lock_timeout_names_the_owner(computer: Computer) -> None:
    """Waits the full 30 s of the session lock timeout."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_words: str | None) -> Said:
        asked.set()
        assert go_on.wait(50)
        return "At last."

    with serving("anthropic", slow) as wire:
        computer.env |= wire.env
        holder = computer.start("run", "first", "--session", "s")
        assert asked.wait(50)
        refused = computer.run("run", "second", "--session", "s")
        go_on.set()
        done = finish(holder)
        assert (refused.code, refused.out) == (1, "")
        waiting, told = refused.err.strip().splitlines()
        assert "Session s is in use by another process." in waiting
        assert f"process {holder.pid}" in told
        assert (done.code, done.out) == (0, "At last.\n")
        # It was told that it failed, so nobody works on it behind its back.
        third = computer.run("run", "third", "--session", "s")
        assert (third.code, third.out) == (0, "At last.\n")
    lines = [line_of(message) for message in computer.exported("s")]
    assert lines == ["user: first", ANSWER, "user: third", ANSWER]
