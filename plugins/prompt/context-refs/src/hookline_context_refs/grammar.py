"""Parses the references in a person's text; accesses nothing else.

A reference begins where no word, address or path goes on, and ends before white space that no
backslash precedes; closing punctuation at its end belongs to the sentence. So may what follows
other punctuation or a letter of a script without spaces within it, as in ``看@a.py的问题``,
``<@a.py>`` and ``@a.py's``: the readings that end earlier are in `Reference.shorter`, and so are
those of places such as ``@a.py#L10-L20``. A name in quotes may contain spaces and ends at the
closing quote. What follows a bare ``@`` may be a path, a colleague or a decorator: it is a
reference only if :mod:`.bare_names` finds that file or folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["file", "folder", "diff", "staged", "changes", "git", "url", "bare"]

MAX_COMMITS = 1_000
"""The largest N of ``@git:N``; the patches are cut to a size anyway."""
_CLOSING = ",.;:!?)]}*|>`'\"" + "，。；：！？）］｝、」』】〉》’”»…"
"""Closing punctuation that is not part of a reference."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff"
)
"""Letters of Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean: words follow each other, and
Latin names, without a space."""
MAX_SHORTER = 24
"""Readings of one reference other than the longest."""
_END = re.compile(
    rf"[^\w\s./\\@:+~\x00-\x1f\x7f-]|[-_~]+(?=\W|\Z)"
    rf"|(?<=[^{_UNSPACED}])(?=[{_UNSPACED}])|:(?=[^0-9-]|\Z)"
)
"""Where a reference may end before the word does."""
_URL_END = re.compile(r"[<>`\"，。；：！？、）］｝」』】〉》’”»…]")
_OPENING = "<([{（［｛「『【〈《“‘«„*_~"
_QUOTED = "|".join(
    rf"{begin}(?P<spaced{number}>[^{end}\r\n]++){end}"
    for number, (begin, end) in enumerate([*zip("\"“'`", "\"”'`", strict=True)])
)
_VALUE = rf"(?:\\[ ]|(?!(?:[{_UNSPACED}]|[^\w\s/.-])@)\S)*"
"""Up to white space without a backslash, or to the next reference."""
_REFERENCE = re.compile(
    rf"(?<![^\W_{_UNSPACED}])(?<![.%@/\\$\0\u200b])(?<![^\W_][_-])@(?:"
    r'(?P<quoted>file|folder|url|changes):"(?P<name>[^"\r\n]*+)"(?P<range>:(?=[0-9-])[0-9]*-?[0-9]*)?'
    rf"|(?P<named>file|folder|url|git|changes):(?P<value>{_VALUE})"
    rf"|(?:{_QUOTED})(?P<lines>:(?=[0-9-])[0-9]*-?[0-9]*)?"
    rf"|(?P<bare>(?=[^\s\"@]){_VALUE}))"
)
_PLACE = re.compile(
    r"(?P<path>.+?)(?:[:#(][Ll]?|#?:L)(?P<first>[0-9]+)(?:[Cc:.][0-9]+)?"
    r"(?:(?:-|–|—|\.\.|,)[Ll]?(?P<last>[0-9]+)(?:[Cc:.][0-9]+)?)?\)?\Z"
)
"""Lines as editors, compilers and code hosts write them: ``a.py#L10-L20``, ``a.py:10:5``."""
_RANGE = re.compile(r"(?=[0-9-])[0-9]*-?[0-9]*")
_DOTS = re.compile(r"\.{1,2}(?!\.)")


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that a message refers to.

    ``raw`` is the reference as it was written, without closing punctuation; ``value`` a path, a
    URL, a number of commits, or a base or path for ``changes``; ``lines`` the first and the last
    line of a file, from 1. ``problem`` is a sentence if the reference is invalid. The kind ``bare``
    means a file, a folder or nothing; ``whole`` is its path if what looks like a range belongs to
    the name. ``shorter`` are readings that end earlier, the longest first: they count if nothing
    has the longer name.
    """

    kind: Kind
    value: str
    raw: str
    lines: tuple[int, int] | None = None
    problem: str = ""
    whole: str = ""
    shorter: tuple[Reference, ...] = ()


def references(text: str) -> list[Reference]:
    """Return the references in ``text``, in order, without duplicates, in linear time."""
    found: dict[object, Reference] = {}
    for match in _REFERENCE.finditer(text):
        reference = _read(match)
        if reference is not None:
            key = (reference.kind, reference.value, reference.lines, reference.problem)
            found.setdefault(key, reference)
    return list(found.values())


def _read(match: re.Match[str]) -> Reference | None:
    kind: Kind
    if kind := match["quoted"]:  # type: ignore[assignment]
        lines = (match["range"] or "")[1:] if kind == "file" else ""
        raw = f'@{kind}:"{match["name"]}"' + (f":{lines}" if lines else "")
        return _with_range(kind, match["name"], raw, lines)
    spaced = next((match[f"spaced{n}"] for n in range(4) if match[f"spaced{n}"]), "")
    if spaced:
        return _with_range("bare", spaced, match[0], (match["lines"] or "")[1:])
    if match["bare"]:
        return _bare_or_shorter(match["bare"])
    return _named_or_shorter(match["named"], match["value"])  # type: ignore[arg-type]


def _bare_or_shorter(written: str) -> Reference | None:
    word = written.rstrip(_CLOSING)
    readings = [one for value in _endings(written) for one in _bare_readings(value)]
    for reading in readings:
        if reading.kind != "bare" and not word.startswith(f"{reading.raw[1:]}:"):
            return reading
    paths = [reading for reading in readings if reading.kind == "bare"]
    return _with_shorter(paths) if paths else None


def _bare_readings(value: str) -> Iterator[Reference]:
    if (one := _bare(value)) is not None:
        yield one
        yield from _other_spellings("bare", value)


def _named_or_shorter(kind: Kind, written: str) -> Reference:
    if kind == "url":
        return _named(kind, _URL_END.split(written)[0])
    if kind == "git":
        number = re.match(rf"[0-9]+(?=['’`\"{_UNSPACED}，。、])", written)
        return _named(kind, number[0] if number else written)
    readings = []
    for value in _endings(written) or [written]:
        readings.append(_named(kind, value))
        readings += _other_spellings(kind, value)
    return _with_shorter(readings)


def _with_shorter(readings: Sequence[Reference]) -> Reference:
    return replace(readings[0], shorter=tuple(readings[1 : MAX_SHORTER + 1]))


def _other_spellings(kind: Kind, value: str) -> Iterator[Reference]:
    """Other readings of a path: with the lines at its end, and without backslashes."""
    raw = f"@{value}" if kind == "bare" else f"@{kind}:{value}"
    path, lines = _split_range(value) or (value, "")
    if kind != "folder" and (place := _PLACE.match(value)) and place["path"] != path:
        path, lines = place["path"], "-".join(filter(None, place.group("first", "last")))
        yield _with_range(kind, path, raw, lines)
    if "\\ " in path:
        yield _with_range(kind, re.sub(r"\\(.)", r"\1", path), raw, lines)
    elif "\\" in path:
        yield _with_range(kind, path.replace("\\", "/"), raw, lines)


def _endings(written: str) -> list[str]:
    """What may be meant, without punctuation around it, the longest first."""
    found = [written.rstrip(_CLOSING) or written]
    for end in list(_END.finditer(written))[:MAX_SHORTER][::-1]:
        found.append(written[: end.start()].rstrip(_CLOSING))
    bare = [value.lstrip(_OPENING) for value in found]
    return [value for value in dict.fromkeys(found + bare) if value]


def _named(kind: Kind, written: str) -> Reference:
    value = written.rstrip(_CLOSING)
    if not value and kind != "git" and (dots := _DOTS.match(written)):
        value = dots[0]  # `@folder:.` is a folder, not the end of a sentence.
    raw = f"@{kind}:{value}"
    if kind == "file" and (ranged := _split_range(value)) is not None:
        return _with_range(kind, ranged[0], raw, ranged[1])
    return _with_range(kind, value, raw, "")


def _bare(value: str) -> Reference | None:
    if value in ("diff", "staged", "changes"):
        return Reference(value, "", f"@{value}")  # type: ignore[arg-type]
    if (ranged := _split_range(value)) is not None:
        return replace(_with_range("bare", ranged[0], f"@{value}", ranged[1]), whole=value)
    named = any(char.isalnum() for char in value)
    return Reference("bare", value, f"@{value}") if named else None


def _split_range(value: str) -> tuple[str, str] | None:
    """Return the path and the range of ``path:10-20``; None if there is no range."""
    path, colon, lines = value.rpartition(":")
    return (path, lines) if path and colon and _RANGE.fullmatch(lines) else None


def _with_range(kind: Kind, value: str, raw: str, lines: str) -> Reference:
    """Return the reference with its parsed range, or with its problem."""
    if not value:
        example = {"git": "3", "url": "https://example.org"}.get(kind, "path")
        return Reference(kind, value, raw, problem=f"write what it names as in @{kind}:{example}")
    if kind == "git":
        return _commits(value, raw)
    if kind == "url" and not value.lower().startswith(("http://", "https://")):
        return Reference(kind, value, raw, problem="only http:// and https:// can be fetched")
    if not lines:
        return Reference(kind, value, raw)
    first, dash, last = lines.partition("-")
    if not first or (dash and not last):
        problem = "the range lacks a number; write :10 or :10-20"
        return Reference(kind, value, raw, problem=problem)
    start, end = _number(first), _number(last or first)
    if start < 1 or end < start:
        why = "lines are counted from 1" if start < 1 else "the range ends before it begins"
        return Reference(kind, value, raw, (start, end), f"{why}; write :10 or :10-20")
    return Reference(kind, value, raw, (start, end))


def _commits(value: str, raw: str) -> Reference:
    if re.fullmatch("[0-9]+", value) and 1 <= _number(value) <= MAX_COMMITS:
        return Reference("git", str(_number(value)), raw)
    problem = f"write the number of commits, from 1 to {MAX_COMMITS}, as in @git:3"
    return Reference("git", value, raw, problem=problem)


def _number(digits: str) -> int:
    """Return the number, or one larger than any line; Python refuses to parse 4,301 digits."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 12 else 10**12
