"""Errors that a model or a person can act on."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import ToolError


class InvalidOperation(ToolError):
    """An operation cannot be done; the text says why and what to do.

    ``entries`` are texts listed below it, after they passed ``pre_read``.
    """

    def __init__(self, text: str, entries: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.entries = tuple(entries)


class NoMatch(InvalidOperation):
    """No entry matches."""


class AmbiguousMatch(InvalidOperation):
    """Several entries match; ``entries`` are the candidates."""


class NotesFull(InvalidOperation):
    """The notes would not fit; nothing was changed."""
