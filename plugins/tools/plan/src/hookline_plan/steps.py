"""The steps of a plan: parsed from a model's arguments, cleaned, and formatted for people.

A text is one line without control characters, so that it is safe on any screen. The caller
escapes markup.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hookline_hookspecs import ToolError
from hookline_hookspecs.sentences import N_

STATES = {"open": "○", "doing": "▸", "done": "✓"}
"""The symbol of each state."""
MAX_STEPS = 40
MAX_TEXT_CHARS = 200
"""Longer texts are cut."""
MAX_CURRENT_CHARS = 60
"""Characters of the current step in the one-line summary."""
MAX_READ_CHARS = 4 * MAX_TEXT_CHARS
"""Characters of a text that are examined."""
_JOINERS = "\u200c\u200d"
"""Invisible, but parts of words and of emoji."""
MAX_MARKS = 4
"""Accents and other marks on one letter; no language needs more."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step; ``state`` is ``open``, ``doing`` or ``done``."""

    text: str
    state: str


def parse(value: Any) -> tuple[PlanStep, ...]:
    """Return the steps that a model sent.

    Raises:
        ToolError: the message tells the model what is wrong with which step.
    """
    if isinstance(value, str):  # some models encode nested arguments once more
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ToolError("steps is a text; give an array of {text, state}") from None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ToolError("steps must be an array of {text, state}")
    if len(value) > MAX_STEPS:
        raise ToolError(f"{len(value)} steps are too many; give at most {MAX_STEPS}, larger ones")
    return tuple(_parse_step(step, number) for number, step in enumerate(value, 1))


def _parse_step(given: Any, number: int) -> PlanStep:
    if not isinstance(given, Mapping):
        raise ToolError(f"step {number} must be an object with text and state")
    text, state = given.get("text"), given.get("state")
    if not isinstance(text, str) or not (line := one_line(text)):
        raise ToolError(f"step {number} has no text; write what is to be done")
    if not isinstance(state, str) or state not in STATES:
        got = json.dumps(state, default=str)[:40]
        raise ToolError(f"the state of step {number} is {got}; it must be open, doing or done")
    return PlanStep(line, state)


def one_line(text: str) -> str:
    """Return ``text`` as one line of at most :data:`MAX_TEXT_CHARS` characters, without control
    characters, direction marks and other invisible ones."""
    line = " ".join("".join(_visible_characters(text[:MAX_READ_CHARS])).split())
    return line if len(line) <= MAX_TEXT_CHARS else line[: MAX_TEXT_CHARS - 1].rstrip() + "…"


def _visible_characters(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Cc", "Zl", "Zp", "Zs"):
            yield " "
        elif marks <= MAX_MARKS and (kind not in ("Cf", "Cs", "Co") or character in _JOINERS):
            yield character


def board(steps: Sequence[PlanStep]) -> str:
    """Return the plan as plain text: a heading, then one line for each step."""
    return "\n".join([f"Plan: {progress(steps)}", *(f"{STATES[s.state]} {s.text}" for s in steps)])


def as_markdown(steps: Sequence[PlanStep]) -> str:
    """Return the plan as Markdown, with markup in the texts escaped."""
    return _MARKUP.sub(r"\\\1", board(steps)).replace("\n", "  \n")


def progress(steps: Sequence[PlanStep]) -> str:
    """Return the progress, such as ``2 of 5 done``."""
    return N_(f"{sum(step.state == 'done' for step in steps)} of {len(steps)} done")


def summary(steps: Sequence[PlanStep]) -> str:
    """Return the plan in one line: the progress and the current step."""
    now = next((step.text for step in steps if step.state == "doing"), "")
    now = now if len(now) <= MAX_CURRENT_CHARS else now[: MAX_CURRENT_CHARS - 1].rstrip() + "…"
    return ", now: ".join(filter(None, [progress(steps), now]))


def is_finished(steps: Sequence[PlanStep]) -> bool:
    """Return whether all steps are done."""
    return all(step.state == "done" for step in steps)


def for_model(steps: Sequence[PlanStep]) -> str:
    """Return the plan for the model's context: lines such as ``[done] text``."""
    return "\n".join(f"[{step.state}] {step.text}" for step in steps)


def to_json(steps: Sequence[PlanStep]) -> list[dict[str, str]]:
    """Return the steps in the form of the tool's argument."""
    return [asdict(step) for step in steps]


def from_json(value: Any) -> tuple[PlanStep, ...]:
    """Return the steps of a stored plan; none if it is damaged."""
    try:
        return parse(value or [])
    except ToolError:
        return ()
