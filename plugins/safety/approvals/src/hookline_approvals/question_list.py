"""``/questions``: the list, and what is written after the command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookline_hookspecs.questions import StoredQuestion
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import on_one_line

_ANSWER = re.compile(r"answer\s+(\S{1,20})\s+(\S.*)", re.IGNORECASE | re.DOTALL)
MAX_LINE_CHARS = 100
"""Characters shown of what a question is about."""
MAX_LISTED = 50


def parse_answer(args: str) -> tuple[str, str] | None:
    """The id and the typed choice of ``answer ID CHOICE``, or None."""
    match = _ANSWER.fullmatch(args.strip())
    return (match[1], match[2]) if match else None


def question_list(questions: Sequence[StoredQuestion], now: float) -> str:
    """The open questions, one a line, oldest first. ``now`` is Unix time in seconds."""
    if not questions:
        return N_("No question is open.")
    lines = [_line(question, now) for question in questions[:MAX_LISTED]]
    if len(questions) > MAX_LISTED:
        lines.append(N_(f"… and {len(questions) - MAX_LISTED} more."))
    return "\n".join([*lines, N_("To answer one: /questions answer ID CHOICE")])


def several_text(questions: Sequence[StoredQuestion]) -> str:
    """Asks which of several open approvals is meant."""
    lines = [f"{question.id}: {question.tool or question.kind}" for question in questions]
    head = N_("Several approvals are open. Answer one: /questions answer ID CHOICE")
    return "\n".join([head, *lines])


def _line(question: StoredQuestion, now: float) -> str:
    about = (question.preview or question.text).strip().partition("\n")[0]
    parts = (question.id, question.kind, question.tool, question.chat, _age(now - question.created))
    named = [on_one_line(part, MAX_LINE_CHARS) for part in parts if part]
    return " · ".join([*named, on_one_line(about, MAX_LINE_CHARS)])


def _age(seconds: float) -> str:
    minutes = max(0, int(seconds)) // 60
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
