"""Reads a tool call's arguments, which servers and small models send as nearly JSON.

Only the notation is repaired, never the content: a text that may have been cut off is an error.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NoReturn

MAX_REPAIRED_CHARS = 200_000
"""A longer text is only read as JSON; the repair takes seconds for it."""
_LEADING = re.compile(r"\A\ufeff?\s*(?:```[\w-]*\s*|json\s+(?=\{)|<[|/\w][^<>{}\"']{0,40}>\s*)*")
_TRAILING = re.compile(r"(?:\s*(?:```|<[|/\w][^<>{}\"']{0,40}>|;))*\s*\Z")
_SEPARATOR = re.compile(r"[\s,;]*")
_EXTRA_CLOSERS = re.compile(r"[\s}\]]*\Z")
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"))
_PAIRS = {"{": "}", "[": "]"}


class UnreadableArguments(Exception):
    """The arguments are no JSON object; the text says what they are instead."""


def read_arguments(text: str, *, cut: bool = False) -> list[dict[str, Any]]:
    """Return the object of a call's arguments; several if the calls of a response were joined.

    Accepted are ``null``, a list of one object or none, fences and tags around the object, an empty
    object before it, an object encoded as a string, line breaks in strings, and the notation of
    Python and JavaScript.

    Args:
        text: the arguments.
        cut: the response ended early, so that only valid JSON is accepted.

    Raises:
        UnreadableArguments: there is no object, or it may not be complete.
    """
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        found = _objects(_without_wrapping(text)) or ([] if cut else _repaired(text))
        if not found:
            raise UnreadableArguments("were cut off" if cut else "are not JSON") from None
        return found
    if isinstance(value, str) and "{" in value:  # shorter than text, so this ends
        return read_arguments(value, cut=cut)
    if value is None or value == []:  # so some servers write no arguments
        return [{}]
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, dict):
        raise UnreadableArguments("are not a JSON object")
    return [value]


def _decode(text: str) -> Any:
    return json.loads(text, parse_constant=_no_constant, strict=False)


def _without_wrapping(text: str) -> str:
    """Return the text without fences, tags and a byte order mark around it."""
    text = text[_LEADING.match(text).end() :]  # type: ignore[union-attr]  # it always matches
    return text[: _TRAILING.search(text).start()]  # type: ignore[union-attr]


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the objects that follow each other in ``text``; none if there is anything else.

    Some servers begin the arguments with an empty object, so an empty one counts only alone.
    """
    decoder = json.JSONDecoder(parse_constant=_no_constant, strict=False)
    found: list[dict[str, Any]] = []
    at = 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
        at = _SEPARATOR.match(text, at).end()  # type: ignore[union-attr]
        if _EXTRA_CLOSERS.match(text, at):
            break
    return [value for value in found if value] or found[:1]


def _repaired(text: str) -> list[dict[str, Any]]:
    """Return the object of a text in the notation of another language; none if there is none."""
    text = _without_wrapping(text).strip()
    if len(text) > MAX_REPAIRED_CHARS or not (text.startswith("{") and text.endswith("}")):
        return []
    value = _python_literal(text)
    if value is None and _is_closed(text):
        from json_repair import repair_json

        value = repair_json(text, return_objects=True, skip_json_loads=True)
        if not _has_only_quoted_strings(value, _ESCAPE.sub(_unescape, text)):
            return []
    return [value] if isinstance(value, dict) and value and _is_json(value) else []


def _python_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _has_only_quoted_strings(value: Any, text: str) -> bool:
    """Return whether each string of a repaired value stands in ``text`` exactly, in quotes."""
    if isinstance(value, dict):
        return all(_has_only_quoted_strings(inner, text) for inner in value.values())
    if isinstance(value, list):
        return all(_has_only_quoted_strings(inner, text) for inner in value)
    if isinstance(value, str):
        return any(f"{begin}{value}{end}" in text for begin, end in _QUOTES)
    return True


def _unescape(escape: re.Match[str]) -> str:
    return str(json.loads(f'"{escape[0]}"'))


def _is_json(value: Any) -> bool:
    """Return whether JSON can hold the value and gives it back unchanged."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (ValueError, TypeError, RecursionError):
        return False


def _is_closed(text: str) -> bool:
    """Return whether every bracket and string that begins in ``text`` also ends in it."""
    expected: list[str] = []
    quote, before = "", ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            next(letters, "")
        elif quote:
            quote = "" if letter == quote else quote
        elif letter == '"' or (letter == "'" and before in "{[:,"):
            quote = letter
        elif letter in _PAIRS:
            expected.append(_PAIRS[letter])
        elif letter in "}]" and (not expected or expected.pop() != letter):
            return False
        before = before if letter.isspace() else letter
    return not quote and not expected


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
