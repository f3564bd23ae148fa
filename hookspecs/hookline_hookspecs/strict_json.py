"""Reads JSON that comes from outside: strictly, in linear time, and not in the way of others.

What two readers could understand differently is refused: repeated keys, ``NaN``, numbers without a
finite value, lone surrogates, and NUL, which no store can hold.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
MAX_DEPTH = 64
"""Levels of nested lists and objects."""
MAX_COMMAS = 500_000
"""More are refused. Python's reader holds its global lock for a whole list or object, which stops
every other thread; half a million members take it less than a second."""
MAX_BYTES_ON_LOOP = 100_000
"""Longer texts are read in a thread: reading 100 kB takes about 2 ms."""
_MAX_SHOWN_KEY_CHARS = 80


class InvalidJson(ValueError):
    """The text is not JSON that may be read. The message completes a sentence, as ``not JSON``."""


async def parse_off_loop(parse: Callable[[bytes], T], data: bytes) -> T:
    """Return ``parse(data)``, called in a thread for more than :data:`MAX_BYTES_ON_LOOP`.

    Raises what ``parse`` raises.
    """
    if len(data) > MAX_BYTES_ON_LOOP:
        return await asyncio.to_thread(parse, data)
    return parse(data)


def read_json(data: bytes | str, *, any_text: bool = False) -> Any:
    """Return the value that a JSON text stands for. Raises :class:`InvalidJson`.

    With ``any_text``, strings may hold NUL and lone surrogates, which the caller replaces.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        if text.count(",") > MAX_COMMAS:
            raise InvalidJson(f"too large: it has more than {MAX_COMMAS:,} commas")
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except InvalidJson:
        raise
    except UnicodeDecodeError:
        raise InvalidJson("not UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise InvalidJson("not JSON") from None
    _check(value, 0, any_text)
    return value


def read_json_object(data: bytes | str, *, any_text: bool = False) -> dict[str, Any]:
    """Like :func:`read_json`, for a text that must be an object."""
    value = read_json(data, any_text=any_text)
    if not isinstance(value, dict):
        raise InvalidJson("not a JSON object")
    return value


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            shown = name[:_MAX_SHOWN_KEY_CHARS].encode("ascii", "backslashreplace").decode()
            raise InvalidJson(f"ambiguous: an object has the key {shown!r} twice")
        seen.add(name)
    raise AssertionError(pairs)


def _finite(text: str) -> float:
    if math.isfinite(value := float(text)):
        return value
    raise InvalidJson("not JSON: a number is too large")


def _refuse_constant(name: str) -> Any:
    raise InvalidJson(f"not JSON: {name} is not a number")


def _too_deep() -> InvalidJson:
    return InvalidJson(f"nested deeper than {MAX_DEPTH} levels")


def _check(value: Any, depth: int, any_text: bool) -> None:
    """Refuse deep nesting, and NUL and lone surrogates unless ``any_text``."""
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, str) and not any_text:
        _check_text(value)
    elif isinstance(value, dict):
        for name, part in value.items():
            _check(name, depth, any_text)
            _check(part, depth + 1, any_text)
    elif isinstance(value, list):
        for part in value:
            _check(part, depth + 1, any_text)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise InvalidJson("not text: a string has a NUL character")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidJson("not text: a string has a lone surrogate") from None
