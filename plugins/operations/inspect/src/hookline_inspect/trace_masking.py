"""Masks secrets in traces before they are stored, by the names and patterns of values.

Traces hold arbitrary texts, so these rules in ``trace_secrets.toml`` are wider than those for
settings in ``hookline_hookspecs.masking``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookline_hookspecs.masking import MASK
from hookline_hookspecs.secrets import redacted

MAX_SCANNED_CHARS = 20_000
"""The rest of a longer text is dropped; traces keep far less."""


@cache
def _rules() -> tuple[tuple[str, ...], tuple[re.Pattern[str], ...]]:
    """The endings of secret keys and the patterns of secrets in ``trace_secrets.toml``."""
    data = tomllib.loads((files(__package__) / "trace_secrets.toml").read_text("utf-8"))
    return tuple(data["keys"]), tuple(map(re.compile, data["patterns"].values()))


def is_secret(key: str) -> bool:
    """Whether the value of this name is secret, such as ``api_key``."""
    return re.sub(r"[\W_]", "", key).casefold().endswith(_rules()[0])


def mask_text(text: str, max_chars: int) -> str:
    """At most ``max_chars`` characters of ``text`` on one line, with secrets masked."""
    if len(text) > MAX_SCANNED_CHARS:
        text = _cut_at_word(text)
    text = redacted(text)
    for pattern in _rules()[1]:
        text = pattern.sub(_mask_match, text)
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def mask_json(value: Any, max_chars: int) -> str:
    """A value as compact JSON of at most ``max_chars`` characters, with secrets masked."""
    try:
        text = json.dumps(_without_secrets(value, max_chars), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(not JSON)"
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _without_secrets(value: Any, max_chars: int) -> Any:
    if isinstance(value, Mapping):
        return {
            mask_text(str(key), max_chars): MASK
            if is_secret(str(key))
            else _without_secrets(part, max_chars)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(part, max_chars) for part in value]
    return mask_text(value, max_chars) if isinstance(value, str) else value


def _cut_at_word(text: str) -> str:
    """The beginning of a long text, without the last partial word, which may be a secret."""
    head = text[:MAX_SCANNED_CHARS]
    return head[: head.rfind(" ") + 1] or MASK if not head[-1].isspace() else head


def _mask_match(found: re.Match[str]) -> str:
    kept = found.groupdict().get("kept") or ""
    return f"{kept}{MASK}"
