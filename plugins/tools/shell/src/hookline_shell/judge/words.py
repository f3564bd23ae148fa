"""Unquoting: what a word as written becomes, in every way it can.

Quotes, backslashes, ANSI-C strings, tilde, braces, variables, command and process substitution and
splitting at ``IFS``, in the order of a shell. The result is a list of alternatives, each a list of
words; mostly there is one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from . import braces, scan
from .parameters import Parameters
from .scope import MOST, Scope
from .values import SPLIT, UNKNOWN, release_blanks

_PLAIN = re.compile(r"[\w@%+=:,./^-]*\Z")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!_-]")
_RUN = re.compile(r"[^\\'\"$`<>]*")
_INTEGERS = re.compile(r"[\d\s+*()-]{1,40}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word: the texts it may be. ``split`` at IFS; else as it stands."""

    texts: list[str]
    split: bool = False
    quoted: bool = False


def expand(word: str, scope: Scope) -> list[list[str]]:
    """The alternatives of ``word``, each a list of words.

    Raises:
        Unreadable: a quote or bracket is never closed.
        TooMany: braces make more words than are followed.
    """
    if _PLAIN.match(word):
        return [[word]]
    results: list[list[str]] = [[]]
    for raw in braces.expand(word):
        fields = list(_fields(_pieces(raw, scope), scope))
        results = [[*r, *f] for r, f in itertools.product(results, fields)][:MOST]
    return results


def text(word: str, scope: Scope) -> list[str]:
    """``word`` as one text, unsplit: for assignments, here-strings and redirects."""
    return _joined(_pieces(word, scope))


def document(body: str, scope: Scope) -> str:
    """A here-document's text after expansion."""
    return _joined(_in_double(body, scope))[0] if "$" in body or "`" in body else body


def substitutions(raw: str, scope: Scope) -> None:
    """Judge the substitutions in a test or arithmetic, whatever else it says."""
    for _ in _in_double(raw.replace('"', " "), scope):
        pass


def _joined(pieces: Iterator[Piece] | list[Piece]) -> list[str]:
    texts = ["".join(c) for c in itertools.islice(_product(list(pieces)), MOST)]
    return [release_blanks(t.replace(SPLIT, " ")) for t in texts]


def _product(pieces: list[Piece]) -> Iterator[tuple[str, ...]]:
    return itertools.product(*(piece.texts or [""] for piece in pieces))


def _fields(pieces: Iterator[Piece], scope: Scope) -> Iterator[list[str]]:
    parts = list(pieces)
    ifs = scope.lookup("IFS")[0] if scope.is_set("IFS") else " \t\n"
    for chosen in itertools.islice(_product(parts), MOST):
        yield _split(parts, chosen, ifs)


def _split(parts: list[Piece], chosen: tuple[str, ...], ifs: str) -> list[str]:
    fields: list[str] = []
    current: str | None = None
    for piece, value in zip(parts, chosen, strict=True):
        if piece.quoted and current is None and not (piece.split and not value):
            current = ""
        cut = re.escape(SPLIT) + ("" if piece.quoted or not piece.split else re.escape(ifs))
        chunks = re.split(f"[{cut}]", value)
        for index, chunk in enumerate(chunks):
            if index and current is not None:
                fields.append(current)
                current = None
            if index and piece.quoted:
                current = current or ""
            if chunk:
                current = (current or "") + chunk
    if current is not None:
        fields.append(current)
    return [release_blanks(field) for field in fields]


def _pieces(raw: str, scope: Scope) -> Iterator[Piece]:
    """The pieces of a word outside double quotes."""
    i = 0
    if raw.startswith("~"):
        i = re.match(r"~[\w.+-]*", raw).end()  # type: ignore[union-attr]
        yield Piece([scope.home(raw[1:i])], quoted=True)
    while i < len(raw):
        char = raw[i]
        if char == "\\":
            yield Piece(["" if raw[i + 1 : i + 2] == "\n" else raw[i + 1 : i + 2]], quoted=True)
            i += 2
        elif char == "'":
            end = scan.single_end(raw, i + 1)
            yield Piece([raw[i + 1 : end]], quoted=True)
            i = end + 1
        elif char == '"' or raw.startswith('$"', i):
            start = raw.index('"', i) + 1
            end = scan.double_end(raw, start)
            yield Piece([""], quoted=True) if end == start else Piece([""])
            yield from _quoted(raw[start:end], scope)
            i = end + 1
        elif raw.startswith("$'", i):
            end = scan.ansi_end(raw, i + 2)
            yield Piece([scan.ansi(raw[i + 2 : end])], quoted=True)
            i = end + 1
        elif char in "<>" and raw[i + 1 : i + 2] == "(":
            end = scan.bracket_end(raw, i + 2, ")")
            yield Piece([scope.process(raw[i + 2 : end], char)], quoted=True)
            i = end + 1
        elif char in "$`":
            piece, i = _dollar(raw, i, scope, quoted=False)
            yield piece
        else:
            end = max(_RUN.match(raw, i).end(), i + 1)  # type: ignore[union-attr]
            yield Piece([raw[i:end]])
            i = end


def _quoted(body: str, scope: Scope) -> Iterator[Piece]:
    for piece in _in_double(body, scope):
        yield Piece(piece.texts, split=piece.split, quoted=True)


def _in_double(body: str, scope: Scope) -> Iterator[Piece]:
    """The pieces inside double quotes or a here-document."""
    i = 0
    while i < len(body):
        char = body[i]
        if char == "\\" and body[i + 1 : i + 2] in ("$", "`", '"', "\\", "\n"):
            yield Piece([body[i + 1].replace("\n", "")], quoted=True)
            i += 2
        elif char in "$`":
            piece, i = _dollar(body, i, scope, quoted=True)
            yield piece
        else:
            end = i + 1
            while end < len(body) and body[end] not in "\\$`":
                end += 1
            yield Piece([body[i:end]], quoted=True)
            i = end


def _dollar(raw: str, i: int, scope: Scope, *, quoted: bool) -> tuple[Piece, int]:
    """The substitution at ``i`` and where it ends."""
    if raw[i] == "`":
        end = scan.backtick_end(raw, i + 1)
        script = re.sub(r"\\([\\$`])", r"\1", raw[i + 1 : end])
        return Piece([_output(script, scope)], not quoted, quoted), end + 1
    if raw.startswith("$((", i) and (found := _arithmetic(raw, i, scope)):
        return Piece([found[0]], not quoted, quoted), found[1]
    if raw.startswith("$(", i):
        end = scan.bracket_end(raw, i + 2, ")")
        return Piece([_output(raw[i + 2 : end], scope)], not quoted, quoted), end + 1
    if raw.startswith("${", i):
        end = scan.bracket_end(raw, i + 2, "}")
        inner = raw[i + 2 : end]
        many = quoted and ("@" in inner[-3:])
        return Piece(
            Parameters(scope, text, document).value(inner), not quoted or many, quoted
        ), end + 1
    if raw.startswith("$[", i) and "]" in raw[i:]:
        end = raw.index("]", i)
        substitutions(raw[i + 2 : end], scope)
        return Piece([UNKNOWN], not quoted, quoted), end + 1
    match = _NAME.match(raw, i + 1)
    if not match:
        return Piece(["$"], quoted=quoted), i + 1
    values = scope.lookup(match[0])
    if match[0] == "*" and quoted:
        values = [v.replace(SPLIT, " ") for v in values]
    return Piece(values, not quoted or match[0] == "@", quoted), match.end()


def _output(script: str, scope: Scope) -> str:
    return scope.substitute(script).rstrip("\n")


def _arithmetic(raw: str, i: int, scope: Scope) -> tuple[str, int] | None:
    end = scan.bracket_end(raw, i + 2, ")")
    if not raw.startswith(")", end - 1):
        return None
    inner = raw[i + 3 : end - 1]
    substitutions(inner, scope)
    if _INTEGERS.fullmatch(inner) and "**" not in inner:
        try:
            return str(eval(inner, {"__builtins__": {}})), end + 1  # noqa: S307 - digits and + - *
        except (SyntaxError, TypeError, ValueError):
            return UNKNOWN, end + 1
    return UNKNOWN, end + 1


def split_words(raw: str) -> Iterator[str]:
    """Text cut at unquoted blanks."""
    start = i = 0
    while i <= len(raw):
        if i == len(raw) or raw[i] in " \t\n":
            if i > start:
                yield raw[start:i]
            start = i = i + 1
        else:
            i = scan.skip(raw, i)
