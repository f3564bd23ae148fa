"""Text that can be stored and sent, and a question as text."""

from __future__ import annotations

import json
import os
from typing import Any

from hookline_hookspecs import Question


def new_id() -> str:
    """A new identifier: 32 hexadecimal digits."""
    return os.urandom(16).hex()


def dump(value: object) -> str:
    """``value`` as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def clean(text: str) -> str:
    """``text`` with surrogate pairs joined and lone ones, which UTF-8 cannot hold, replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Tool arguments whose strings can be stored and sent."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    cleaned = clean(text)
    made: dict[str, Any] = arguments if cleaned is text else json.loads(cleaned)
    return made


def numbered(question: Question) -> str:
    """A question as text: its choices numbered, ``Other`` last."""
    if not question.choices:
        return question.text
    choices = [*question.choices, "Other"]
    lines = [f"{number}. {choice}" for number, choice in enumerate(choices, 1)]
    return "\n".join([question.text, *lines])
