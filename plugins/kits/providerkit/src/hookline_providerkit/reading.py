"""What a server says of a failure: its words, its codes, its status, and when to come back."""

from __future__ import annotations

import email.utils
import html
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

_DEEPEST = 8
"""Errors inside errors that are looked at."""
QUOTED = 400
"""Characters of a server's own words that an error repeats."""
_LOOKED_AT = 20_000
"""Characters of a body that are looked at."""
_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_STATUS_OF = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "overloaded": 529,
    "overloaded_error": 529,
}
"""The status that goes with an error's ``code`` or ``type``, for errors that come in a stream."""


def words(body: Any, hidden: Callable[[str], str] = str) -> str:
    """A server's own words out of any shape of error body, in one line of bounded length.

    Empty if there are none. A web page is told by its title, or else by its text. ``hidden`` takes
    secrets out, before the text is cut.
    """
    text = hidden(_text(_parsed(body))[:_LOOKED_AT])
    if is_page(text):
        title = _TITLE.search(text)
        text = html.unescape(title[1] if title else _TAG.sub(" ", text))
        text = " ".join(text.split())
        text = f"a web page, {text!r}" if text else "a web page"
    line = " ".join(text.split()).rstrip(".")
    line = "".join(letter for letter in line if letter.isprintable())
    return line if len(line) <= QUOTED else line[:QUOTED] + "…"


def is_page(body: Any) -> bool:
    """Whether a body is a web page, or another document with tags."""
    return isinstance(body, str) and body.lstrip()[:1] == "<"


def codes(body: Any) -> str:
    """The codes and types that an error body names, those of an error inside it included."""
    found: list[str] = []
    for _ in range(_DEEPEST):
        if not isinstance(body, Mapping):
            break
        found += [code for key in ("code", "type") if (code := _scalar(body.get(key)))]
        body = body.get("error")
    return " ".join(found)


def status_of(body: Any) -> int:
    """The HTTP status that an error body amounts to; 0 if it does not say."""
    for _ in range(_DEEPEST):
        if not isinstance(body, Mapping):
            break
        for key in ("code", "status", "type"):
            value = _scalar(body.get(key))
            if len(value) == 3 and value.isascii() and value.isdecimal() and value[0] in "45":
                return int(value)
            if value in _STATUS_OF:
                return _STATUS_OF[value]
        body = body.get("error")
    return 0


def _scalar(value: Any) -> str:
    """A code as text: empty for what no code is."""
    if isinstance(value, str):
        return value[:QUOTED]
    return str(value) if isinstance(value, int) and 0 < value < 1_000_000 else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait according to ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _parsed(body: Any) -> Any:
    if not isinstance(body, bytes):
        return body
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(body: Any, deepest: int = _DEEPEST) -> str:
    if isinstance(body, str):
        return body
    if not deepest:
        return ""
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail", "msg", "error_description"):
            if found := _text(body.get(key), deepest - 1):
                return found
        return codes(body)
    if isinstance(body, list):
        return "; ".join(filter(None, (_text(one, deepest - 1) for one in body[:3])))
    return ""
