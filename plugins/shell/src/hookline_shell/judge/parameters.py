"""Parameter expansion: ``${name…}`` with its operators (bash manual, Shell Parameter Expansion)."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from .scan import ansi
from .values import SPLIT, UNKNOWN, blend, keep_blanks, known

if TYPE_CHECKING:
    from .words import Scope

_HEAD = re.compile(
    r"(?P<sign>[!#]?)(?P<name>[A-Za-z_]\w*|\d+|[@*?$!_#-])"
    r"(?P<index>\[[^\]]*\])?(?P<rest>.*)\Z",
    re.DOTALL,
)
_DEFAULT = re.compile(r":?([-=+?])(.*)\Z", re.DOTALL)
_SLICE = re.compile(r":\s*(-?\d+|\(-\d+\))\s*(?::\s*(-?\d+))?\s*\Z")


def value(inner: str, scope: Scope) -> list[str]:
    """The texts that ``${inner}`` may become."""
    from .words import text

    match = _HEAD.match(inner)
    if not match:
        text(inner, scope)
        return [UNKNOWN]
    sign, name, index, rest = match["sign"], match["name"], match["index"], match["rest"]
    if sign == "#":
        return [str(len(v)) if known(v) else UNKNOWN for v in scope.lookup(name)]
    values = scope.lookup(name)
    if sign == "!":
        return _indirect(values, index, rest, scope)
    if index:
        values = [_element(v, index[1:-1], scope) for v in values]
    if default := _DEFAULT.match(rest):
        return _default(name, values, default[1], default[2], scope)
    if not rest:
        return values
    return [_operate(v, rest, scope) for v in values]


def _indirect(names: list[str], index: str | None, rest: str, scope: Scope) -> list[str]:
    from .words import text

    if index or rest:
        text((index or "") + rest, scope)
        return [UNKNOWN]
    found = [v for n in names for v in (scope.lookup(n) if known(n) else [UNKNOWN])]
    return found or [UNKNOWN]


def _element(items: str, index: str, scope: Scope) -> str:
    from .words import text

    if index in ("@", "*"):
        return items
    number = text(index, scope)[0]
    parts = items.split(SPLIT)
    if re.fullmatch(r"-?\d+", number) and -len(parts) <= int(number) < len(parts):
        return parts[int(number)]
    return blend(items)


def _default(name: str, values: list[str], sign: str, word: str, scope: Scope) -> list[str]:
    from .words import text

    other = text(word, scope)
    if ("'" in word or '"' in word) and any(c in o for o in other for c in " \n\t"):
        other = [*(keep_blanks(o) for o in other), *other]
    is_set = scope.is_set(name)
    if sign == "+":
        return [*other, ""]
    if sign == "?":
        return values
    if sign == "=" and not is_set:
        scope.assign(name, other)
    if is_set:
        return [v or o for v in values for o in other]
    return other


def _operate(subject: str, rest: str, scope: Scope) -> str:
    from .words import document, text

    if not known(subject):
        text(rest, scope)
        return subject
    if cut := _SLICE.match(rest):
        return _slice(subject, int(cut[1].strip("()")), cut[2])
    if rest[0] in "^,":
        return _case(subject, rest)
    if rest[0] in "#%":
        long = rest[1:2] == rest[0]
        pattern = text(rest[2 if long else 1 :], scope)[0]
        return _trim(subject, rest[0], pattern, shortest=not long)
    if rest[0] == "/":
        return _replace(subject, rest[1:], scope)
    if rest == "@P":
        return document(subject, scope)
    if rest == "@E":
        return ansi(subject)
    if rest in ("@Q", "@L", "@U", "@u"):
        return {"@L": subject.lower(), "@U": subject.upper()}.get(rest, subject)
    return UNKNOWN


def _slice(subject: str, start: int, length: str | None) -> str:
    many = SPLIT in subject
    items = subject.split(SPLIT) if many else subject
    end = None if length is None else int(length) if int(length) < 0 else start + int(length)
    piece = items[start:end]
    return SPLIT.join(piece) if many else str(piece)


def _case(subject: str, rest: str) -> str:
    change = str.upper if rest[0] == "^" else str.lower
    return change(subject) if rest[:2] in ("^^", ",,") else change(subject[:1]) + subject[1:]


def _trim(subject: str, side: str, pattern: str, *, shortest: bool) -> str:
    matches = re.compile(fnmatch.translate(pattern)).match
    sizes = range(len(subject) + 1)
    for size in sizes if shortest else reversed(sizes):
        if side == "#" and matches(subject[:size]):
            return subject[size:]
        if side == "%" and matches(subject[len(subject) - size :]):
            return subject[: len(subject) - size]
    return subject


def _replace(subject: str, rest: str, scope: Scope) -> str:
    from .words import text

    every = rest.startswith("/")
    pattern, _, new = rest.removeprefix("/").partition("/")
    old, replacement = text(pattern, scope)[0], text(new, scope)[0]
    if not (old and known(old) and known(replacement)):
        return blend([old, replacement]) if old else subject
    expression = re.compile(fnmatch.translate(old).removesuffix(r"\Z").removesuffix(r"\z"))
    return expression.sub(lambda _: replacement, subject, count=0 if every else 1)
