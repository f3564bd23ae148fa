"""Words what pydantic says of wrong settings, for a person, and without secrets."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

Key: TypeAlias = tuple[str, ...]
"""Where a setting stands: ``("plugins", "memory", "notes_max_chars")``."""
MISSING = "is missing."
"""What is said of a setting that has no default and was left out."""
MASK = "********"
"""What is shown in place of a secret."""
SECRET_NAME = re.compile(
    r"(api[-_]?keys?|tokens?|secrets?|passwor[dt]|passwd|passphrase|credentials?|authorization|_key)$",
    re.I,
)
URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s]+)(?=@)")
# Replacements in pydantic's messages, made in this order.
_WORDS = (
    ("^(Value error, |Assertion failed, |Input should be )", ""),
    (", (unable to|got a) .*", ""),
    ("a valid string", "text (put it in quotes)"),
    ("a valid dictionary.*", "a mapping"),
    ("a valid integer", "a whole number"),
    ("a valid boolean", "true or false"),
    ("a valid ", "a "),
    (r"String should match pattern '\^https\?://.*", "an address such as https://example.org"),
    ("String should match pattern '(.*)'", r"text that matches \1"),
    ("^(String|List|Dictionary) should have (.*?)( after validation.*)?$", r"\2"),
)


def setting_errors(error: ValidationError, values: object, base: Key = ()) -> dict[Key, str]:
    """One text for each wrong value of `values`, which are at `base`, by its key; though pydantic
    reports one error for each type of a union. Secrets are not in the texts."""
    texts: dict[Key, str] = {}
    for fault in error.errors(include_url=False, include_context=False):
        key, value, wanted = base, cast(Any, values), fault["msg"]
        for part in fault["loc"]:
            try:
                value = value[part]
            except (LookupError, TypeError):  # it names a type of a union
                continue
            key = (*key, str(part))
        for pattern, ours in _WORDS:
            wanted = re.sub(pattern, ours, wanted)
        if fault["type"] == "missing":
            texts[*key, str(fault["loc"][-1])] = MISSING
        elif key in texts:
            texts[key] = f"{texts[key][:-1]} or {wanted}."
        elif fault["type"] == "value_error" and not wanted.startswith("wanted "):
            # The sentence of a plugin, which may name the value itself.
            is_named = isinstance(value, dict | list) or str(value) in wanted
            texts[key] = f"{'' if is_named else f'found {quoted(value, key)}; '}{wanted}."
        else:
            wanted = wanted.removeprefix("wanted ")
            texts[key] = f"found {quoted(value, key)}, wanted {wanted}."
    return texts


def is_secret(key: Key) -> bool:
    """Whether a key, or a section around it, is named like a secret."""
    return any(map(SECRET_NAME.search, key))


def masked(text: str, key: Key) -> str:
    """The `text` at `key` with a mask for passwords in URLs, or for all of it if it is a secret."""
    return (
        MASK
        if is_secret(key)
        else URL_PASSWORD.sub(lambda found: found[0].removesuffix(found[1]) + MASK, text)
    )


def quoted(value: object, key: Key) -> str:
    """The `value` at `key` for a sentence: shortened, secrets masked."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return masked(json.dumps(value, ensure_ascii=False, default=str), key)[:60]
