"""Reads a server's error: its text, codes and status, and when to retry."""

from __future__ import annotations

import email.utils
import html
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

_MAX_DEPTH = 8
"""Maximum nesting of errors inside errors."""
MAX_QUOTED_CHARS = 400
"""Characters of a server's text that an error sentence quotes."""
_MAX_READ_CHARS = 20_000
"""Characters of a body that are read."""
_WAIT_HEADERS = {"retry-after-ms": 1000.0, "retry-after": 1.0}
_WAIT_HEADERS |= {"x-ratelimit-reset": 1.0, "ratelimit-reset": 1.0}
"""Headers that say when to send again, and how many of their units a second has."""
_MIN_EPOCH = 1_000_000_000
"""A larger number is a date."""
_DURATION = re.compile(
    r"(?:(\d+)h)?(?:(\d+)m(?:in(?:ute)?s?)?(?!s))?(?:(\d+(?:\.\d+)?)s(?:ec(?:ond)?s?)?)?"
    r"(?:(\d+(?:\.\d+)?)m(?:illi)?s(?:econds?)?)?",
    re.IGNORECASE,
)
_WAIT_WORDS = re.compile(
    r"(?:again in|again after|retry (?:in|after)|retry_?(?:delay|after)(?:_seconds)?\"?:? ?\"?"
    r"|wait)"
    r"\s*(\d[\d.]*(?: ?(?:h|ms|milliseconds?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b"
    r"|[hms][\d.hms]*)?)",
    re.IGNORECASE,
)
_OTHER_WAIT_WORDS = re.compile(
    r"\b(?:in|en|dans|tra|em|через) (\d+) ?(?:s|sek\w*|segundos?|secondes?|secondi|с|сек\w*)\b"
    r"|(\d+) ?(?:秒|초)",
    re.IGNORECASE,
)
"""The seconds, as gateways translate the sentence."""
_LIMIT_FIELD = re.compile(r"\b(remaining|reset|r|t)=(\d+)")
"""Of the header ``RateLimit``, in both of its forms."""
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
    # MiniMax, as `base_resp.status_code`
    "1000": 500,
    "1001": 504,
    "1002": 429,
    "1004": 401,
    "1008": 402,
    "1013": 500,
    "1024": 500,
    "1026": 400,
    "1027": 400,
    "1033": 500,
    "1039": 429,
    "1041": 429,
    "2013": 400,
    "2049": 401,
    "2056": 402,
}
"""The status of an error's ``code`` or ``type``, for errors in a response that is a success."""
_TEXT_KEYS = (
    "message",
    "error",
    "errors",
    "detail",
    "msg",
    "error_description",
    "error_msg",
    "status_msg",
)
_MORE_TEXT_KEYS = (
    *("errmsg", "errormessage", "error_message", "err", "fault", "faultstring", "reason", "title"),
    *("details", "text", "header", "response", "data"),
)
"""Where gateways that are not made for models write it; read if there is no other text."""


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


def hidden_error(body: Mapping[str, Any]) -> Any:
    """Return the error in a response or chunk whose status was a success; None without one.

    Servers send it as ``error``, as MiniMax's ``base_resp``, or in place of an answer.
    """
    if error := body.get("error") or body.get("errors"):
        return error
    status = body.get("base_resp")
    if isinstance(status, Mapping) and _scalar(status.get("status_code")) not in ("", "0"):
        return status
    if "choices" not in body and any(isinstance(body.get(key), str) for key in _TEXT_KEYS):
        return body
    return None


def is_html(body: Any) -> bool:
    """Return whether a body is a web page, or another document with tags."""
    return isinstance(body, str) and body.lstrip()[:1] == "<"


def error_codes(body: Any) -> str:
    """Return the codes and types in an error body, and in errors inside it."""
    found: list[str] = []
    for _ in range(_MAX_DEPTH):
        if not isinstance(body, Mapping):
            break
        found += [
            code for key in ("code", "status_code", "type") if (code := _scalar(body.get(key)))
        ]
        body = body.get("error")
    return " ".join(found)


def error_status(body: Any) -> int:
    """Return the HTTP status that an error body stands for; 0 if it does not say."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(body, Mapping):
            break
        for key in ("code", "status", "status_code", "type"):
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


def retry_after(headers: Mapping[str, str], body: Any = None) -> float | None:
    """Return the seconds to wait that a server asks for, in headers or in the words of an error."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    quoted = metadata.get("headers") if isinstance(metadata, Mapping) else None  # OpenRouter
    for found in (headers, quoted if isinstance(quoted, Mapping) else {}):
        given = {str(name).lower(): str(value) for name, value in found.items()}
        left = given.get("x-ratelimit-remaining", given.get("ratelimit-remaining", "0"))
        for name, unit in _WAIT_HEADERS.items():
            if name.endswith("reset") and left.strip() != "0":
                continue  # while requests are left, another fault is the reason
            if (seconds := _seconds(given.get(name, ""), unit)) is not None:
                return seconds
        if waits := list(_waits_of_limits(given)):
            return max(waits)
    text = _json_text(body)
    if found_ms := re.search(r"retry_?after_?ms\"?:? ?\"?(\d{1,9})", text, re.IGNORECASE):
        return int(found_ms[1]) / 1000
    texts = [found[1] for found in _WAIT_WORDS.finditer(text)]
    if not texts and (other := _OTHER_WAIT_WORDS.search(text)):
        texts = [next(filter(None, other.groups()))]
    return next(
        (
            wait
            for text in texts
            if (wait := _seconds(text.replace(" ", "").rstrip("."), 1)) is not None
        ),
        None,
    )


def _waits_of_limits(headers: Mapping[str, str]) -> Iterator[float]:
    """Yield the waits of limits that are used up: of OpenAI and Groq, and of ``RateLimit``."""
    for kind in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() == "0":
            wait = _seconds(headers.get(f"x-ratelimit-reset-{kind}", ""), 1)
            if wait is not None:
                yield wait
    fields = dict(_LIMIT_FIELD.findall(headers.get("ratelimit", "")))
    if fields.get("remaining", fields.get("r")) == "0":
        wait = _seconds(fields.get("reset") or fields.get("t") or "", 1)
        if wait is not None:
            yield wait


def _seconds(text: str, unit: float) -> float | None:
    """Return the seconds of a number, a duration such as ``2m30s``, or a date; None without one."""
    try:
        number = float(text) / unit
    except ValueError:
        return _duration(text.strip())
    if number > _MIN_EPOCH:  # a date in seconds or, with three digits more, in milliseconds
        number = max(0.0, (number / 1000 if number > _MIN_EPOCH * 1000 else number) - time.time())
    return number if 0 <= number < float("inf") else None


def _duration(text: str) -> float | None:
    if text and (found := _DURATION.fullmatch(text)):
        hours, minutes, seconds, thousandths = (float(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds + thousandths / 1000
    for read in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            return max(0.0, read(text).timestamp() - time.time())
        except (TypeError, ValueError, OverflowError, OSError):
            continue
    return None


def _json_text(body: Any) -> str:
    """Return a body as text in which a wait is looked for."""
    return json.dumps(body, default=str, ensure_ascii=False)[:_MAX_READ_CHARS] if body else ""


def _parsed(body: Any) -> Any:
    if not isinstance(body, bytes):
        return body
    text = body[:_MAX_READ_CHARS].decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(body: Any, depth: int = _MAX_DEPTH) -> str:
    if not depth:
        return ""
    if isinstance(body, str):  # gateways quote the error of their server as JSON
        inner = _parsed(body.encode("utf-8", "replace")) if body[:1] == "{" else None
        return (_text(inner, depth - 1) if isinstance(inner, Mapping) else "") or body
    if isinstance(body, Mapping):
        metadata = body.get("metadata")
        raw = metadata.get("raw") if isinstance(metadata, Mapping) else None  # OpenRouter
        lower = {str(key).lower(): value for key, value in body.items()}
        texts = (_text(lower.get(key), depth - 1) for key in (*_TEXT_KEYS, *_MORE_TEXT_KEYS))
        found = next(filter(None, texts), "") or error_codes(body)
        return f"{found}: {inner}" if (inner := _text(raw, depth - 1)) else found
    if isinstance(body, list):
        return "; ".join(filter(None, (_text(one, depth - 1) for one in body[:3])))
    return ""
