"""Replacing one passage of a text, found exactly or by seven looser rules.

Reached by :func:`replace`; ``edit_file`` and the patches of skills use it. It reads no file, knows
no plugin, and needs the standard library alone.
"""

from .errors import Ambiguous, EditError, NoMatch, NothingToDo, Unsafe
from .numbering import cut, numbered
from .replacing import Edit, replace
from .view import View, lines_of, newline_of

__all__ = [
    "Ambiguous",
    "Edit",
    "EditError",
    "NoMatch",
    "NothingToDo",
    "Unsafe",
    "View",
    "cut",
    "lines_of",
    "newline_of",
    "numbered",
    "replace",
]
