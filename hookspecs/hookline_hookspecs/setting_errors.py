"""Turns pydantic's validation errors into sentences for a person, with secrets masked."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

from .masking import mask_value

Key: TypeAlias = tuple[str, ...]
"""The path of a setting: ``("plugins", "memory", "notes_max_chars")``."""
MISSING = "is missing."
"""The text for a required setting that is missing."""
# Replacements in pydantic's messages, made in this order.
_WORDS = (
    ("^(Value error, |Assertion failed, |Input should be )", ""),
    (", (unable to|got a) .*", ""),
    ("a valid string", "text (put it in quotes)"),
    ("a valid dictionary.*", "a mapping"),
    ("a valid integer", "a whole number"),
    ("a valid boolean", "true or false"),
    ("a valid ", "a "),
    ("^(greater|less) than", r"a number \1 than"),
    (r"String should match pattern '\^https\?://.*", "an address such as https://example.org"),
    ("String should match pattern '(.*)'", r"text that matches \1"),
    ("^(String|List|Dictionary) should have (.*?)( after validation.*)?$", r"\2"),
)


def setting_errors(error: ValidationError, values: object, base: Key = ()) -> dict[Key, str]:
    """A text for each wrong value in `values`, by key; `base` is the key of `values` itself.

    Pydantic reports an error for each type of a union; these become one text. Secrets are masked.
    """
    texts: dict[Key, str] = {}
    expectations: dict[Key, list[str]] = {}
    for fault in error.errors(include_url=False, include_context=False):
        key, value, message = base, cast(Any, values), fault["msg"]
        for part in fault["loc"]:
            try:
                value = value[part]
            except (LookupError, TypeError):  # this part is a type of a union
                continue
            key = (*key, str(part))
        for pattern, replacement in _WORDS:
            message = re.sub(pattern, replacement, message)
        if fault["type"] == "missing":
            texts[*key, str(fault["loc"][-1])] = MISSING
        elif fault["type"] == "value_error" and not message.startswith("expected "):
            # A plugin's own sentence, which may quote the value already.
            is_named = isinstance(value, dict | list) or str(value) in message
            texts[key] = f"{'' if is_named else f'found {quoted(value, key)}; '}{message}."
        else:
            expected = expectations.setdefault(key, [])
            expected.append(message.removeprefix("expected "))
            texts[key] = f"expected {' or '.join(expected)}, got {quoted(value, key)}."
    return texts


def quoted(value: object, key: Key) -> str:
    """The `value` at `key` as an error message quotes it: at most 60 characters, secrets masked."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return mask_value(json.dumps(value, ensure_ascii=False, default=str), key)[:60]
