"""Replaces one passage of a text, found exactly or by seven looser rules.

The entry point is :func:`replace`; ``edit_file`` and the patches of skills use it. It reads no
file and knows no plugin.
"""

from .errors import Ambiguous, EditError, NoMatch, NothingToDo, Unsafe
from .legacy_encoding import LegacyEncoding, legacy_encoding
from .numbering import cut, numbered
from .replacing import Edit, replace
from .unmarked_unicode import escape_encoding, unmarked_unicode
from .view import View, lines_of, newline_of

__all__ = [
    "Ambiguous",
    "Edit",
    "EditError",
    "LegacyEncoding",
    "NoMatch",
    "NothingToDo",
    "Unsafe",
    "View",
    "cut",
    "escape_encoding",
    "legacy_encoding",
    "lines_of",
    "newline_of",
    "numbered",
    "replace",
    "unmarked_unicode",
]
