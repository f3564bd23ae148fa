"""What Python's operators and pure functions make of constants."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import shlex

from .values import UNKNOWN

_CONVERTS = frozenset({"str", "bytes", "list", "Path", "expanduser", "PurePath", "split"})


def operate(left: object, op: ast.operator, right: object) -> object:
    """The value of ``left op right``; None or a mark where it is not known."""
    if isinstance(op, ast.Add):
        if isinstance(left, str) or isinstance(right, str):
            return "".join(UNKNOWN if v is None else str(v) for v in (left, right))
        if isinstance(left, list) and isinstance(right, list):
            return left + right
        if isinstance(left, int | bytes) and type(left) is type(right):
            return left + right  # type: ignore[operator]
    if isinstance(op, ast.Mult) and isinstance(left, str) and isinstance(right, int):
        return left * min(right, 1000)
    if isinstance(op, ast.Mod) and isinstance(left, str) and right is not None:
        values = tuple(right) if isinstance(right, list) else (right,)
        try:
            return left % values
        except (TypeError, ValueError):
            return UNKNOWN
    if isinstance(op, ast.Div) and isinstance(left, str) and isinstance(right, str):
        return f"{left}/{right}"
    return None


def sliced(value: object, start: object, end: object, step: object) -> object:
    """The value of ``value[start:end:step]``, or None."""
    ends = [v if isinstance(v, int) else None for v in (start, end, step)]
    return value[slice(*ends)] if isinstance(value, str | bytes | list) and ends[2] != 0 else None


def mapped(name: str, items: list[object]) -> object:
    """``items`` with ``chr`` or ``str`` applied to each; None for any other function."""
    if name == "str" and UNKNOWN not in items:
        return [str(item) for item in items]
    numbers = [item for item in items if isinstance(item, int) and 0 <= item < 0x110000]
    return [chr(n) for n in numbers] if name == "chr" and len(numbers) == len(items) else None


def compute(name: str, owner: object, args: list[object]) -> object:
    """The value of a pure call on constants; None if it is not one."""
    first = args[0] if args else None
    if name == "split" and isinstance(first, str) and owner is None:
        return shlex.split(str(first))
    if name == "chr" and isinstance(first, int):
        return chr(first)
    if name == "join" and isinstance(owner, str) and isinstance(first, list):
        return owner.join(map(str, first))
    if name == "join" and args and all(isinstance(a, str) for a in args):
        return "/".join(map(str, args))
    if name in ("b64decode", "urlsafe_b64decode", "standard_b64decode") and isinstance(
        first, str | bytes
    ):
        return base64.b64decode(first)
    if name == "fromhex" and isinstance(first, str):
        return bytes.fromhex(first)
    if name == "unhexlify" and isinstance(first, str | bytes):
        return binascii.unhexlify(first)
    if name in ("decode", "encode"):
        return _decoded(owner, first)
    if name in _CONVERTS:
        return _converted(name, owner, first)
    if name in ("replace", "strip", "lower", "upper", "format", "removeprefix") and isinstance(
        owner, str
    ):
        return getattr(owner, name)(*args) if all(isinstance(a, str) for a in args) else None
    if name == "reversed" and isinstance(first, str | list):
        return list(first)[::-1]
    if name == "decode" and isinstance(first, str) and args[1:2] in (["rot13"], ["rot_13"]):
        return codecs.decode(first, "rot13")
    if name in ("getcwd", "cwd"):
        return "."
    return None


def _decoded(owner: object, codec: object) -> object:
    if isinstance(owner, str) and codec in ("rot13", "rot_13"):
        return codecs.decode(owner, "rot13")
    if isinstance(owner, bytes):
        return owner.decode("utf-8", "replace")
    return owner if isinstance(owner, str) else None


def _converted(name: str, owner: object, first: object) -> object:
    if name == "split" and isinstance(owner, str):
        return owner.split(first if isinstance(first, str) else None)
    if name == "expanduser" and isinstance(first or owner, str):
        return first or owner
    if name in ("bytes", "list") and isinstance(first, list):
        numbers = [n for n in first if isinstance(n, int)]
        return bytes(numbers) if name == "bytes" and len(numbers) == len(first) else first
    return first if isinstance(first, str | bytes) and name != "split" else None
