"""Parameter expansion: ``${name…}`` with its operators (bash manual, Shell Parameter Expansion)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from .scan import ansi
from .scope import Scope
from .values import SPLIT, UNKNOWN, blend, keep_blanks, known

_HEAD = re.compile(
    r"(?P<sign>[!#]?)(?P<name>[A-Za-z_]\w*|\d+|[@*?$!_#-])"
    r"(?P<index>\[[^\]]*\])?(?P<rest>.*)\Z",
    re.DOTALL,
)
_DEFAULT = re.compile(r":?([-=+?])(.*)\Z", re.DOTALL)
_SLICE = re.compile(r":\s*(-?\d+|\(-\d+\))\s*(?::\s*(-?\d+))?\s*\Z")


class Parameters:
    """Parameter expansion in one shell.

    Args:
        scope: the shell.
        unquote: makes one text of what stands inside the braces.
        expand: expands a here-document's text.
    """

    def __init__(
        self,
        scope: Scope,
        unquote: Callable[[str, Scope], list[str]],
        expand: Callable[[str, Scope], str],
    ) -> None:
        self._scope = scope
        self._unquote = unquote
        self._expand = expand

    def value(self, inner: str) -> list[str]:
        """The texts that ``${inner}`` may become."""
        match = _HEAD.match(inner)
        if not match:
            self._text(inner)
            return [UNKNOWN]
        sign, name, index, rest = match["sign"], match["name"], match["index"], match["rest"]
        if sign == "#":
            return [str(len(v)) if known(v) else UNKNOWN for v in self._scope.lookup(name)]
        values = self._scope.lookup(name)
        if sign == "!":
            return self._indirect(values, index, rest)
        if index:
            values = [self._element(v, index[1:-1]) for v in values]
        if default := _DEFAULT.match(rest):
            return self._default(name, values, default[1], default[2])
        if not rest:
            return values
        return [self._operate(v, rest) for v in values]

    def _text(self, raw: str) -> list[str]:
        return self._unquote(raw, self._scope)

    def _indirect(self, names: list[str], index: str | None, rest: str) -> list[str]:
        if index or rest:
            self._text((index or "") + rest)
            return [UNKNOWN]
        found = [v for n in names for v in (self._scope.lookup(n) if known(n) else [UNKNOWN])]
        return found or [UNKNOWN]

    def _element(self, items: str, index: str) -> str:
        if index in ("@", "*"):
            return items
        number = self._text(index)[0]
        parts = items.split(SPLIT)
        if re.fullmatch(r"-?\d+", number) and -len(parts) <= int(number) < len(parts):
            return parts[int(number)]
        return blend(items)

    def _default(self, name: str, values: list[str], sign: str, word: str) -> list[str]:
        other = self._text(word)
        if ("'" in word or '"' in word) and any(c in o for o in other for c in " \n\t"):
            other = [*(keep_blanks(o) for o in other), *other]
        is_set = self._scope.is_set(name)
        if sign == "+":
            return [*other, ""]
        if sign == "?":
            return values
        if sign == "=" and not is_set:
            self._scope.assign(name, other)
        if is_set:
            return [v or o for v in values for o in other]
        return other

    def _operate(self, subject: str, rest: str) -> str:
        if not known(subject):
            self._text(rest)
            return subject
        if cut := _SLICE.match(rest):
            return _slice(subject, int(cut[1].strip("()")), cut[2])
        if rest[0] in "^,":
            return _case(subject, rest)
        if rest[0] in "#%":
            long = rest[1:2] == rest[0]
            pattern = self._text(rest[2 if long else 1 :])[0]
            return _trim(subject, rest[0], pattern, shortest=not long)
        if rest[0] == "/":
            return self._replace(subject, rest[1:])
        if rest == "@P":
            return self._expand(subject, self._scope)
        if rest == "@E":
            return ansi(subject)
        if rest in ("@Q", "@L", "@U", "@u"):
            return {"@L": subject.lower(), "@U": subject.upper()}.get(rest, subject)
        return UNKNOWN

    def _replace(self, subject: str, rest: str) -> str:
        every = rest.startswith("/")
        pattern, _, new = rest.removeprefix("/").partition("/")
        old, replacement = self._text(pattern)[0], self._text(new)[0]
        if not (old and known(old) and known(replacement)):
            return blend([old, replacement]) if old else subject
        expression = re.compile(fnmatch.translate(old).removesuffix(r"\Z").removesuffix(r"\z"))
        return expression.sub(lambda _: replacement, subject, count=0 if every else 1)


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
