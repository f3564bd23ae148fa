"""Cleans text for storage, and formats JSON and questions."""

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
    """Make ``text`` storable.

    Surrogate pairs are joined. Lone surrogates, which UTF-8 cannot encode, and NULs, which
    databases cannot store, are replaced by U+FFFD.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def clean_json(value: Any, depth: int = 64) -> Any:
    """Make a JSON value's strings and keys storable; ``ValueError`` if nested over ``depth``."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, (dict, list)) and not depth:
        raise ValueError("are nested too deep")
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(inner, depth - 1) for key, inner in value.items()}
    return [clean_json(inner, depth - 1) for inner in value] if isinstance(value, list) else value


def numbered(question: Question) -> str:
    """A question as text, with its choices numbered and ``Other`` last."""
    if not question.choices:
        return question.text
    lines = [f"{number}. {choice}" for number, choice in enumerate([*question.choices, "Other"], 1)]
    return "\n".join([question.text, *lines])
