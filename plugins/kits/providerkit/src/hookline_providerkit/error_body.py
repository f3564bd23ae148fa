"""Reads a server's error: its text, codes and status, and when to retry."""

from __future__ import annotations

import email.utils
import html
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

_MAX_DEPTH = 8
"""Maximum nesting of errors inside errors."""
MAX_QUOTED_CHARS = 400
"""Characters of a server's text that an error sentence quotes."""
_MAX_READ_CHARS = 20_000
"""Characters of a body that are read."""
_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_STATUS_BY_CODE = {
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
"""The status of an error's ``code`` or ``type``, for errors that come in a stream."""


def error_text(body: Any, redact: Callable[[str], str] = str) -> str:
    """Return the text of an error body of any shape, in one line of bounded length.

    Empty if there is none. For a web page, its title or else its text is quoted. ``redact`` removes
    secrets before the text is cut.
    """
    text = redact(_text(_parsed(body))[:_MAX_READ_CHARS])
    if is_html(text):
        title = _TITLE.search(text)
        text = html.unescape(title[1] if title else _TAG.sub(" ", text))
        text = " ".join(text.split())
        text = f"a web page, {text!r}" if text else "a web page"
    line = " ".join(text.split()).rstrip(".")
    line = "".join(letter for letter in line if letter.isprintable())
    return line if len(line) <= MAX_QUOTED_CHARS else line[:MAX_QUOTED_CHARS] + "…"


def is_html(body: Any) -> bool:
    """Return whether a body is a web page, or another document with tags."""
    return isinstance(body, str) and body.lstrip()[:1] == "<"


def error_codes(body: Any) -> str:
    """Return the codes and types in an error body, and in errors inside it."""
    found: list[str] = []
    for _ in range(_MAX_DEPTH):
        if not isinstance(body, Mapping):
            break
        found += [code for key in ("code", "type") if (code := _scalar(body.get(key)))]
        body = body.get("error")
    return " ".join(found)


def error_status(body: Any) -> int:
    """Return the HTTP status that an error body stands for; 0 if it does not say."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(body, Mapping):
            break
        for key in ("code", "status", "type"):
            value = _scalar(body.get(key))
            if len(value) == 3 and value.isascii() and value.isdecimal() and value[0] in "45":
                return int(value)
            if value in _STATUS_BY_CODE:
                return _STATUS_BY_CODE[value]
        body = body.get("error")
    return 0


def _scalar(value: Any) -> str:
    """Return a code as text; empty for anything else."""
    if isinstance(value, str):
        return value[:MAX_QUOTED_CHARS]
    return str(value) if isinstance(value, int) and 0 < value < 1_000_000 else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
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
    text = body[:_MAX_READ_CHARS].decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(body: Any, depth: int = _MAX_DEPTH) -> str:
    if isinstance(body, str):
        return body
    if not depth:
        return ""
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail", "msg", "error_description"):
            if found := _text(body.get(key), depth - 1):
                return found
        return error_codes(body)
    if isinstance(body, list):
        return "; ".join(filter(None, (_text(one, depth - 1) for one in body[:3])))
    return ""
