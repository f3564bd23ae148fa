"""The steps of a plan: read from what a model sent, made harmless, and written for people.

A text is one line without control characters, so that it can stand on any screen; markup in it is
left to whoever shows it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hookline_hookspecs import ToolError

STATES = {"open": "○", "doing": "▸", "done": "✓"}
"""What each state is shown as."""
MOST_STEPS = 40
LONGEST = 200
"""Characters of one step; a longer text is cut."""
NOW = 60
"""Characters of the step that the one-line summary names."""
READ = 4 * LONGEST
"""Characters of a text that are looked at."""
_JOINERS = "\u200c\u200d"
"""Invisible, but parts of words and of emoji."""
MARKS = 4
"""Marks on one letter, such as accents: more than any language has."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


@dataclass(frozen=True, slots=True)
class Step:
    """One step; ``state`` is ``open``, ``doing`` or ``done``."""

    text: str
    state: str


def parse(given: Any) -> tuple[Step, ...]:
    """Return the steps that a model sent.

    Raises:
        ToolError: a sentence for the model: what is wrong, and with which step.
    """
    if isinstance(given, str):  # some models encode nested arguments once more
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise ToolError("steps is a text; give an array of {text, state}") from None
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ToolError("steps must be an array of {text, state}")
    if len(given) > MOST_STEPS:
        raise ToolError(f"{len(given)} steps are too many; give at most {MOST_STEPS}, larger ones")
    return tuple(_step(one, number) for number, one in enumerate(given, 1))


def _step(given: Any, number: int) -> Step:
    if not isinstance(given, Mapping):
        raise ToolError(f"step {number} must be an object with text and state")
    text, state = given.get("text"), given.get("state")
    if not isinstance(text, str) or not (line := one_line(text)):
        raise ToolError(f"step {number} has no text; write what is to be done")
    if not isinstance(state, str) or state not in STATES:
        got = json.dumps(state, default=str)[:40]
        raise ToolError(f"the state of step {number} is {got}; it must be open, doing or done")
    return Step(line, state)


def one_line(text: str) -> str:
    """Return ``text`` as one line of at most :data:`LONGEST` characters that steers no screen:
    without control characters, marks of direction and other invisible ones."""
    line = " ".join("".join(_harmless(text[:READ])).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def _harmless(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Cc", "Zl", "Zp", "Zs"):
            yield " "
        elif marks <= MARKS and (kind not in ("Cf", "Cs", "Co") or character in _JOINERS):
            yield character


def board(steps: Sequence[Step]) -> str:
    """Return the plan as plain lines: a heading, then a step a line."""
    return "\n".join([f"Plan: {progress(steps)}", *(f"{STATES[s.state]} {s.text}" for s in steps)])


def as_markdown(steps: Sequence[Step]) -> str:
    """Return the same as Markdown, with whatever would be markup in the texts escaped."""
    return _MARKUP.sub(r"\\\1", board(steps)).replace("\n", "  \n")


def progress(steps: Sequence[Step]) -> str:
    """Return how far it is: ``2 of 5 done``."""
    return f"{sum(step.state == 'done' for step in steps)} of {len(steps)} done"


def gist(steps: Sequence[Step]) -> str:
    """Return the plan in a line: how far it is, and what is being done."""
    now = next((step.text for step in steps if step.state == "doing"), "")
    now = now if len(now) <= NOW else now[: NOW - 1].rstrip() + "…"
    return ", now: ".join(filter(None, [progress(steps), now]))


def is_finished(steps: Sequence[Step]) -> bool:
    """Return whether nothing is left to do."""
    return all(step.state == "done" for step in steps)


def for_model(steps: Sequence[Step]) -> str:
    """Return the plan as the model reads it where its own call is gone: ``[done] text`` a line."""
    return "\n".join(f"[{step.state}] {step.text}" for step in steps)


def to_json(steps: Sequence[Step]) -> list[dict[str, str]]:
    """Return the steps as the tool takes them."""
    return [asdict(step) for step in steps]


def stored(value: Any) -> tuple[Step, ...]:
    """Return the steps of a stored plan; none where it is damaged."""
    try:
        return parse(value or [])
    except ToolError:
        return ()
