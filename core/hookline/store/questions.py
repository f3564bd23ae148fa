"""A question that waits for a person: as text, and as it is stored."""

from __future__ import annotations

import json

from hookline_hookspecs import Question


def numbered(question: Question) -> str:
    """A question as text: its choices numbered, ``Other`` last."""
    if not question.choices:
        return question.text
    choices = [*question.choices, "Other"]
    lines = [f"{number}. {choice}" for number, choice in enumerate(choices, 1)]
    return "\n".join([question.text, *lines])


def question_to_json(question: Question | None) -> str | None:
    """A pending question for the store."""
    kept = question and {"text": question.text, "choices": question.choices}
    return json.dumps(kept, ensure_ascii=False) if kept else None


def question_from_json(text: str | None) -> Question | None:
    """The pending question that was stored."""
    data = json.loads(text or "null")
    return Question(data["text"], tuple(data["choices"])) if data else None
