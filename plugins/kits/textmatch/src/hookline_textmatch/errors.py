"""Errors of edits. The text of each is a sentence for the model."""

from __future__ import annotations

from collections.abc import Sequence


class EditError(ValueError):
    """An edit was not made; the text is unchanged."""


class NothingToDo(EditError):
    """There is nothing to change: ``old`` is empty or white space, or ``new`` is the same."""


class NoMatch(EditError):
    """``old`` is not in the text; the sentence shows the closest lines."""


class Ambiguous(EditError):
    """``old`` matches more than one place.

    ``count`` is their number, ``lines`` are the numbers, from 1, of the lines where they start.
    """

    def __init__(self, sentence: str, count: int, lines: Sequence[int]) -> None:
        super().__init__(sentence)
        self.count = count
        self.lines = tuple(lines)


class Unsafe(EditError):
    """A place was found, but the edit would damage it: stray escapes, or a mass edit of places that
    are only similar."""


class LineLost(Exception):
    """A line that ``old`` does not have would be removed; reported as :class:`Unsafe`."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line
