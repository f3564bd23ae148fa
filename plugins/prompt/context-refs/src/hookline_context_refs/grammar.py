"""Parses the references in a person's text; accesses nothing else.

A reference begins at the start, after white space, punctuation or a letter of a script without
spaces, and ends before white space; closing punctuation at its end belongs to the sentence. So may
what follows a quote or such a letter within it, as in ``看@a.py的问题`` and ``@a.py's``: the
readings that end earlier are in `Reference.shorter`. A name in double quotes may contain spaces and
ends at the closing quote. What follows a bare ``@`` may be a path, a colleague
or a decorator: it is a reference only if :mod:`.bare_names` finds that file or folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["file", "folder", "diff", "staged", "git", "url", "bare"]

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
_OPENING = r"\ufeff(\[{（［｛「『【〈《`'\"“‘«„,;:!?，。；：！？、…—–|>*=" + _UNSPACED
MAX_SHORTER = 12
"""Readings of one reference that end earlier."""
_END = re.compile(
    rf"[,;!?)\]}}*|<>`'\"，。；：！？）］｝、」』】〉》’”»…]|(?<=[^{_UNSPACED}])(?=[{_UNSPACED}])"
)
"""Where a reference may end before the word does."""
_URL_END = re.compile(r"[<>`\"，。；：！？、）］｝」』】〉》’”»…]")
_REFERENCE = re.compile(
    rf"(?<![^\s{_OPENING}])@(?:"
    r'(?P<quoted>file|folder|url):"(?P<name>[^"\r\n]*+)"(?P<range>:(?=[0-9-])[0-9]*-?[0-9]*)?'
    r"|(?P<named>file|folder|url|git):(?P<value>\S*)"
    r'|"(?P<spaced>[^"\r\n]++)"(?P<lines>:(?=[0-9-])[0-9]*-?[0-9]*)?'
    r"|(?P<bare>[^\s\"@]\S*))"
)
_RANGE = re.compile(r"(?=[0-9-])[0-9]*-?[0-9]*")
_DOTS = re.compile(r"\.{1,2}(?!\.)")


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that a message refers to.

    ``raw`` is the reference as it was written, without closing punctuation; ``value`` a path, a
    URL or a number of commits; ``lines`` the first and the last line of a file, from 1. ``problem``
    is a sentence if the reference is invalid. The kind ``bare`` means a file, a folder or nothing;
    ``whole`` is its path if what looks like a range belongs to the name. ``shorter`` are readings
    that end earlier, the longest first: they count if nothing has the longer name.
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
    if name := match["spaced"]:
        lines = match["lines"] or ""
        return _with_range("bare", name, f'@"{name}"{lines}', lines[1:])
    if match["bare"]:
        return _bare_or_shorter(match["bare"])
    return _named_or_shorter(match["named"], match["value"])  # type: ignore[arg-type]


def _bare_or_shorter(written: str) -> Reference | None:
    readings = [one for value in _endings(written) if (one := _bare(value)) is not None]
    for reading in readings:
        if reading.kind != "bare":
            return reading
    return replace(readings[0], shorter=tuple(readings[1:])) if readings else None


def _named_or_shorter(kind: Kind, written: str) -> Reference:
    if kind == "url":
        return _named(kind, _URL_END.split(written)[0])
    if kind == "git":
        number = re.match(rf"[0-9]+(?=['’`\"{_UNSPACED}，。、])", written)
        return _named(kind, number[0] if number else written)
    readings = [_named(kind, value) for value in _endings(written)] or [_named(kind, written)]
    return replace(readings[0], shorter=tuple(readings[1:]))


def _endings(written: str) -> list[str]:
    """What may be meant, without closing punctuation, the longest first."""
    found = [written.rstrip(_CLOSING) or written]
    for end in list(_END.finditer(written))[-MAX_SHORTER:][::-1]:
        found.append(written[: end.start()].rstrip(_CLOSING))
    return [value for value in dict.fromkeys(found) if value]


def _named(kind: Kind, written: str) -> Reference:
    value = written.rstrip(_CLOSING)
    if not value and kind != "git" and (dots := _DOTS.match(written)):
        value = dots[0]  # `@folder:.` is a folder, not the end of a sentence.
    raw = f"@{kind}:{value}"
    if kind == "file" and (ranged := _split_range(value)) is not None:
        return _with_range(kind, ranged[0], raw, ranged[1])
    return _with_range(kind, value, raw, "")


def _bare(value: str) -> Reference | None:
    if value in ("diff", "staged"):
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
