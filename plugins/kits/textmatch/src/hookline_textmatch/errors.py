"""Why an edit is not made. The text of each error is a sentence for the model."""

from __future__ import annotations

from collections.abc import Sequence


class EditError(ValueError):
    """An edit was not made; the text stays as it was."""


class NothingToDo(EditError):
    """The request says nothing: ``old`` is empty or white space, or ``new`` is the same."""


class NoMatch(EditError):
    """``old`` is nowhere in the text; the sentence shows the closest lines."""


class Ambiguous(EditError):
    """``old`` fits more than one place.

    ``count`` says how many, ``lines`` are the numbers, from 1, of the lines where they start.
    """

    def __init__(self, sentence: str, count: int, lines: Sequence[int]) -> None:
        super().__init__(sentence)
        self.count = count
        self.lines = tuple(lines)


class Unsafe(EditError):
    """A place was found, but the edit would harm it: stray escapes, or a mass edit of places that
    are only alike."""


class LineLost(Exception):
    """A line of the text that ``old`` does not have would be removed; :class:`Unsafe` tells it."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line
