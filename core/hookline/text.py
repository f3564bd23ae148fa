"""Text that can be stored and sent: no lone surrogates, which UTF-8 cannot hold."""

from __future__ import annotations

import json
from typing import Any


def clean(text: str) -> str:
    """``text`` with surrogate pairs joined and lone ones replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Tool arguments whose texts can be stored and sent."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    cleaned = clean(text)
    made: dict[str, Any] = arguments if cleaned is text else json.loads(cleaned)
    return made
