"""Finding a text in a file and putting another in its place.

:func:`locate` is where further matching strategies slot in; all offsets that leave it are those
of the stored text, so that nothing outside a match is touched.
"""

from __future__ import annotations

from dataclasses import dataclass

from hookline_hookspecs import ToolError

from .nearest import closest
from .storedtext import View, newline_of

LINES_NAMED = 10
"""Line numbers that are named where a text occurs more than once."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a text was found: ``(start, end)`` offsets in order, and by which strategy.

    Spans may overlap, because an overlap makes a place ambiguous all the same.
    """

    spans: tuple[tuple[int, int], ...]
    strategy: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text, how many places changed, and the strategy that found them."""

    text: str
    count: int
    strategy: str


def locate(text: str, old: str) -> Match | None:
    """Where ``text`` holds ``old``, whatever their line endings; None if nowhere."""
    view = View(text)
    spans = _exact(view.text, _plain(old))
    if not spans:
        return None
    return Match(tuple((view.original(a), view.original(b)) for a, b in spans), "exact")


def replace(text: str, path: str, old: str, new: str, *, everywhere: bool) -> Edited:
    """``text`` with ``new`` in place of ``old``: at its one place, or ``everywhere``.

    ``path`` is named in errors. The replacement takes the line endings of what it replaces.

    Raises:
        ToolError: nothing to do, ``old`` is not there, or there more than once.
    """
    if not old:
        raise ToolError("old_string is empty; write_file makes a new file or replaces a whole one")
    if _plain(old) == _plain(new):
        raise ToolError("old_string and new_string are the same; nothing would change")
    match = locate(text, old)
    if match is None:
        hint = closest(View(text).text, _plain(old))
        raise ToolError(f"old_string was not found in {path}: {hint}")
    if len(match.spans) > 1 and not everywhere:
        raise ToolError(_ambiguous(text, path, match))
    return _put(text, match, new)


def _exact(text: str, old: str) -> list[tuple[int, int]]:
    spans = []
    at = text.find(old)
    while at >= 0:
        spans.append((at, at + len(old)))
        at = text.find(old, at + len(old))
    if len(spans) == 1 and (again := text.find(old, spans[0][0] + 1)) >= 0:
        spans.append((again, again + len(old)))
    return spans


def _put(text: str, match: Match, new: str) -> Edited:
    usual = newline_of(text)
    parts: list[str] = []
    done = count = 0
    for start, end in match.spans:
        if start < done:
            continue
        newline = newline_of(text[start:end], usual)
        parts += (text[done:start], _plain(new).replace("\n", newline))
        done = end
        count += 1
    return Edited("".join((*parts, text[done:])), count, match.strategy)


def _ambiguous(text: str, path: str, match: Match) -> str:
    count = len(match.spans)
    lines = [str(View(text[:start]).text.count("\n") + 1) for start, _ in match.spans[:LINES_NAMED]]
    more = ", …" if count > LINES_NAMED else ""
    return (
        f"old_string occurs {count} times in {path} (lines {', '.join(lines)}{more}); add lines "
        "around it so that it is unique, or set replace_all"
    )


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
