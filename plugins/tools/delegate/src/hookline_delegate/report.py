"""A sub-agent's task, instruction and report as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hookline_hookspecs import Turn
from hookline_hookspecs.named_agents import NamedAgent

MAX_REPORT_CHARS = 24_000
"""A longer report is cut in the middle."""
CUT_MARKER = "\n[… {left_out:,} characters of the report left out …]\n"
_MARKER_CHARS = 100
"""Characters reserved for the marker."""


def instruction(agent: NamedAgent | None = None) -> str:
    """Return the system instruction of a sub-agent; that of a named one follows."""
    return _instruction() if agent is None else f"{_instruction()}\n\n{agent.instruction}"


@cache
def _instruction() -> str:
    text = (Path(__file__).parent / "system.md").read_text("utf-8")
    return text.strip().format(characters=MAX_REPORT_CHARS)


def prompt(task: str, context: str | None) -> str:
    """The sub-agent's message."""
    context = (context or "").strip()
    return f"{task.strip()}\n\nWhat you need to know:\n{context}" if context else task.strip()


def failure(turn: Turn) -> str | None:
    """Return why a sub-agent's turn has no report; None if it has one."""
    if turn.stop in ("error", "budget", "stopped", "denied"):
        return f"the sub-agent did not finish ({turn.stop}): {report(turn.reply)}"
    return None


def report(text: str) -> str:
    """Return the report, at most :data:`LONGEST` characters; a longer one keeps its beginning and
    its end, where findings and open points usually are."""
    if len(text) <= MAX_REPORT_CHARS:
        return text
    tail = MAX_REPORT_CHARS // 3
    head = MAX_REPORT_CHARS - tail - _MARKER_CHARS
    return text[:head] + CUT_MARKER.format(left_out=len(text) - head - tail) + text[-tail:]
