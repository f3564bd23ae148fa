"""A sub-agent's task, instruction and report as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hookline_hookspecs import Turn

LONGEST = 24_000
"""Characters of a report (FEATURES, delegate)."""
MARK = "\n[… {left_out:,} characters of the report left out …]\n"
_ROOM = 100
"""Characters reserved for the marker."""


@cache
def instruction() -> str:
    """Return the system instruction of a sub-agent."""
    text = (Path(__file__).parent / "system.md").read_text("utf-8")
    return text.strip().format(characters=LONGEST)


def prompt(task: str, context: str | None) -> str:
    """The sub-agent's message."""
    context = (context or "").strip()
    return f"{task.strip()}\n\nWhat you have to know:\n{context}" if context else task.strip()


def failure(turn: Turn) -> str | None:
    """Return why a sub-agent's turn produced no report, as a sentence; None if it did."""
    if turn.stop in ("error", "budget", "stopped", "denied"):
        return f"the sub-agent did not finish ({turn.stop}): {report(turn.reply)}"
    return None


def report(text: str) -> str:
    """Return the report, at most :data:`LONGEST` characters; a longer one keeps its beginning and
    its end, where findings and open points usually are."""
    if len(text) <= LONGEST:
        return text
    tail = LONGEST // 3
    head = LONGEST - tail - _ROOM
    return text[:head] + MARK.format(left_out=len(text) - head - tail) + text[-tail:]
