"""A turn killed at a named point is finished by the next process that opens its session.

For every point, on both wires, streamed and not, with one and with several tool calls: ``hookline
run`` dies by SIGKILL; a second ``hookline run`` in the same session finishes the turn by the rules
and then works on its own message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from support.durability.computer import PLUGINS, Computer, Finished, line_of, paired
from support.durability.model_wires import WORKING, Call, Said, Wire, serving

ONE: tuple[Call, ...] = (("append", {"line": "one"}),)
SEVERAL: tuple[Call, ...] = (*ONE, ("look", {"line": "two"}), ("append", {"line": "three"}))
DONE = "Done with the notebook."
NEXT = "Next one answered."
INTERRUPTED = (
    "Interrupted: the process died while this ran; the outcome is unknown, check before you go on"
)
POINTS = (
    *("after-commit", "before-model", "mid-stream", "after-model"),
    *("before-tool", "mid-tool", "after-tool", "before-reply", "after-send"),
)


@dataclass(frozen=True)
class Cell:
    """A turn with these calls, killed at the n-th passing of a point."""

    point: str
    n: int
    calls: tuple[Call, ...]
    wire: str
    stream: bool

    def __str__(self) -> str:
        many = "several" if len(self.calls) > 1 else "one"
        kind = "streamed" if self.stream else "whole"
        return f"{self.point}:{self.n}-{many}-{self.wire}-{kind}"

    @property
    def during(self) -> int | None:
        """The number of the call that was under way."""
        return self.n - 1 if self.point in ("before-tool", "mid-tool", "after-tool") else None

    def results(self) -> list[str]:
        """What the model is told of each call."""
        texts = []
        for number, (tool, arguments) in enumerate(self.calls):
            under_way = number == self.during and self.point in ("before-tool", "mid-tool")
            done = "found" if tool == "look" else "appended"
            unknown = under_way and tool != "look"
            texts.append(INTERRUPTED if unknown else f"{done} {arguments['line']}")
        return texts

    def runs(self) -> dict[str, int]:
        """How often each tool has run in the end; those that have not are left out."""
        counts = {}
        for number, (tool, arguments) in enumerate(self.calls):
            key = f"{tool} {arguments['line']}"
            counts[key] = 1
            if number == self.during and self.point == "before-tool" and tool != "look":
                del counts[key]
            if number == self.during and self.point == "mid-tool" and tool == "look":
                counts[key] = 2
        return counts


def cells() -> Iterator[Cell]:
    """Every point at each of its passings that the turn has."""
    single = ("after-receive", "after-commit", "before-reply", "after-send")
    for wire, stream, calls in product(("openai", "anthropic"), (True, False), (ONE, SEVERAL)):
        passings = dict.fromkeys(single, 1)
        passings |= dict.fromkeys(("before-model", "after-model"), 2)
        passings |= {"mid-stream": 2} if stream else {}
        passings |= dict.fromkeys(("before-tool", "mid-tool", "after-tool"), len(calls))
        for point, times in passings.items():
            for n in range(1, times + 1):
                yield Cell(point, n, calls, wire, stream)


def matrix(*points: str) -> pytest.MarkDecorator:
    """The cells of these points. One of each point is quick; wires and forms take turns in that."""
    params = []
    for number, point in enumerate(points):
        chosen = [cell for cell in cells() if cell.point == point]
        quick = chosen[5 * number % len(chosen)]
        for cell in chosen:
            marks = [] if cell is quick else [pytest.mark.slow]
            params.append(pytest.param(cell, id=str(cell), marks=marks))
    return pytest.mark.parametrize("cell", params)


@dataclass
class Killed:
    """A computer after the kill, its model still up. ``shown`` is what the person had read."""

    computer: Computer
    wire: Wire
    shown: str

    def go_on(self) -> Finished:
        """The next process in the same session."""
        return self.computer.run("run", "next", "--session", "s")


@pytest.fixture
def killed(computer: Computer, cell: Cell) -> Iterator[Killed]:
    def script(words: str | None) -> Said:
        return DONE if words is None else cell.calls if words == "work" else NEXT

    with serving(cell.wire, script) as wire:
        computer.env |= wire.env
        computer.config(
            f"providers: {{{cell.wire}: {{stream: {str(cell.stream).lower()}}}}}\n{PLUGINS}"
        )
        point = {"HOOKLINE_CRASH_AT": f"{cell.point}:{cell.n}"}
        first = computer.run("run", "work", "--session", "s", **point)
        assert first.code == -9, f"{cell.point} is never passed: {first.err}"
        yield Killed(computer, wire, first.out)
        assert wire.refused == []
        assert wire.streamed <= {cell.stream}
        assert computer.is_whole()


@pytest.mark.slow
@matrix("after-receive")
def test_kill_before_storing_leaves_no_acknowledged_message(killed: Killed) -> None:
    assert killed.shown == ""
    assert killed.computer.rows("SELECT count(*) FROM inbox") == [0]
    second = killed.go_on()
    assert (second.code, second.out) == (0, f"{NEXT}\n")
    assert [line_of(m) for m in killed.computer.messages("s")] == [
        "user: next",
        f"assistant: {NEXT}",
    ]


@pytest.mark.slow
@matrix(*POINTS)
def test_killed_turn_is_finished_before_the_next_message(killed: Killed, cell: Cell) -> None:
    second = killed.go_on()
    assert (second.code, second.out) == (0, f"{NEXT}\n"), second.err
    computer = killed.computer
    messages = computer.messages("s")
    assert paired(messages)
    assert [line_of(message) for message in messages] == [
        "user: work",
        "assistant: " + " | ".join([WORKING, *(f"→ {t} {a['line']}" for t, a in cell.calls)]),
        "user: " + " | ".join(f"← {text}" for text in cell.results()),
        f"assistant: {DONE}",
        "user: next",
        f"assistant: {NEXT}",
    ]
    assert Counter(computer.ran()) == cell.runs()
    # Killed after showing the reply but before noting that, it is shown again: better than never.
    assert second.err.count(DONE) == 1
    assert killed.shown == (f"{DONE}\n" if cell.point == "after-send" else "")
    assert computer.rows("SELECT state FROM turns ORDER BY number") == ["done", "done"]
    replies = computer.rows("SELECT json_extract(body, '$.text') FROM outbox ORDER BY created")
    assert replies == [DONE, NEXT]
    assert computer.rows("SELECT DISTINCT state FROM outbox") == ["sent"]
    assert computer.rows("SELECT DISTINCT state FROM inbox") == ["done"]
    # What the model had answered is not asked for, and not paid for, again.
    unanswered = cell.point == "mid-stream"
    assert len(killed.wire.answered) == 3 + unanswered
