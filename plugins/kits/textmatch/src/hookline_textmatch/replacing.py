"""Replaces a text within another; the entry point of the library.

Strategies search a view of the text with ``\\n`` endings. Their offsets are converted to those of
the stored text, so that nothing outside a match changes. The modules that search and merge are
imported by the first edit, because plugins import this one at their start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from .errors import Ambiguous, LineLost, NoMatch, NothingToDo, Unsafe
from .numbering import cut
from .view import View, newline_of

if TYPE_CHECKING:
    from .folding import Span
    from .strategies import Match

LINES_NAMED = 10
"""Maximum line numbers that are named if a text occurs more than once."""
SHOWN_CHARS = 200
"""Maximum characters of a line that an error shows."""
STRAY = ("\\'", '\\"')
"""Escapes that a model adds before quotes when it encodes a text as JSON twice."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The new text, how many places changed, and the strategy that found them: ``exact``,
    ``line_trimmed``, ``whitespace_normalized``, ``indentation_flexible``, ``escape_normalized``,
    ``trimmed_boundary``, ``unicode_normalized`` or ``block_anchor``."""

    text: str
    count: int
    strategy: str


def replace(
    text: str, old: str, new: str, *, replace_all: bool = False, name: str = "the text"
) -> Edit:
    """Replace ``old`` in ``text`` by ``new``, at its only place or everywhere.

    ``name`` is the name of the text in errors. An exact match is replaced by ``new`` as it is. In a
    looser match, only the differences between ``old`` and ``new`` change, indented like the text.
    In both cases new lines have the line endings of the passage that they replace.

    Raises:
        NothingToDo: ``old`` is empty or white space, or nothing would change.
        NoMatch: ``old`` is not in the text.
        Ambiguous: ``old`` is in the text more than once.
        Unsafe: the edit would damage the text.
    """
    from .strategies import find

    old, new = _plain(old), _plain(new)
    _require_sense(old, new)
    view = View(text)
    match = find(view.text, old, new)
    if match is None:
        from .nearest import closest

        raise NoMatch(f"old_string was not found in {name}: {closest(view.text, old)}")
    if len(match.spans) > 1 and not (replace_all and match.white_space_alone):
        raise _ambiguous(view, name, match)
    if replace_all and not match.white_space_alone:
        raise _only_alike(view, name, match)
    spans = [(view.original(start), view.original(end)) for start, end in match.spans]
    if match.strategy == "exact":
        return _put(text, spans, "exact", _exactly(text, match))
    _require_no_stray_escapes(text, spans, name, new)
    try:
        edit = _put(text, spans, match.strategy, _merger(text, match))
    except LineLost as error:
        raise _lost(view, name, match, error.line) from error
    if edit.text == text:
        raise NothingToDo(f"{name} already has new_string ({match.strategy}); nothing was changed")
    return edit


def _require_sense(old: str, new: str) -> None:
    if not old:
        raise NothingToDo("old_string is empty; it must be existing text to replace")
    if not old.strip():
        raise NothingToDo("old_string is only white space; add the text around it")
    if old == new:
        raise NothingToDo("old_string and new_string are the same; nothing would change")


def _put(text: str, spans: Sequence[Span], strategy: str, new: Callable[[int, int], str]) -> Edit:
    parts: list[str] = []
    done = count = 0
    for start, end in spans:
        if start < done:
            continue
        parts += (text[done:start], new(start, end))
        done = end
        count += 1
    return Edit("".join((*parts, text[done:])), count, strategy)


def _exactly(text: str, match: Match) -> Callable[[int, int], str]:
    """Return a function that makes the new text, with the line endings of the passage."""
    usual = newline_of(text)
    merged = _merger(text, match)

    def made(start: int, end: int) -> str:
        passage = text[start:end]
        if 0 < passage.count("\r\n") < passage.count("\n"):
            return merged(start, end)  # Each unchanged line keeps its own.
        return match.new.replace("\n", newline_of(passage, usual))

    return made


def _merger(text: str, match: Match) -> Callable[[int, int], str]:
    """Return a function that makes the new passage for a match; equal ones are made once."""
    from .indentation import usual_level
    from .merging import Merge, Passage

    usual = newline_of(text)
    breaks = "\r" if usual == "\r" else "\n"
    level = cache(lambda: usual_level(text))

    @cache
    def merged(passage: str, begins_line: bool) -> str:
        lines = Passage.of(passage, usual, begins_line=begins_line)
        return Merge(lines, match.old, match.new, match.fold, level).text()

    return lambda start, end: merged(text[start:end], start == 0 or text[start - 1] == breaks)


def _require_no_stray_escapes(text: str, spans: Sequence[Span], name: str, new: str) -> None:
    for stray in STRAY:
        if stray in new and not all(stray in text[start:end] for start, end in spans):
            raise Unsafe(
                f"new_string has {stray} where {name} has no backslash before a quote, which looks "
                "like one escape too many; write quotes as they are in the file, with "
                "old_string exactly as it is there"
            )


def _ambiguous(view: View, name: str, match: Match) -> Ambiguous:
    lines = _line_numbers(view, match)
    loosely = "" if match.strategy == "exact" else f" by {match.strategy}"
    hint = ", or set replace_all" if match.white_space_alone else ""
    sentence = (
        f"old_string occurs {len(match.spans)} times in {name}{loosely} ({_listed(match, lines)}); "
        f"add lines around it so that it is unique{hint}"
    )
    return Ambiguous(sentence, len(match.spans), lines)


def _only_alike(view: View, name: str, match: Match) -> Unsafe:
    lines = _listed(match, _line_numbers(view, match))
    return Unsafe(
        f"replace_all needs old_string as it is in {name}, except white space; it matches only "
        f"by {match.strategy} ({lines}). Copy the text from there, or leave out replace_all"
    )


def _lost(view: View, name: str, match: Match, line: str) -> Unsafe:
    lines = _listed(match, _line_numbers(view, match))
    return Unsafe(
        f"old_string matches {name} only roughly ({match.strategy}, {lines}), and the edit would "
        f"remove a line that is not in old_string: {cut(line, SHOWN_CHARS)!r}. Read the lines "
        "and repeat the edit with old_string as it is there"
    )


def _line_numbers(view: View, match: Match) -> list[int]:
    return [view.line(start) for start, _ in match.spans[:LINES_NAMED]]


def _listed(match: Match, lines: Sequence[int]) -> str:
    more = ", …" if len(match.spans) > LINES_NAMED else ""
    word = "line" if len(match.spans) == 1 else "lines"
    return f"{word} {', '.join(map(str, lines))}{more}"


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
