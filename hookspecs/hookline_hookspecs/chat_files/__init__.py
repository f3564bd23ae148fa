"""Files that belong to a chat, for plugins whose files people may edit by hand.

:class:`Chat` knows the folder, :class:`TextFile` reads and replaces a file, and :func:`locked`
locks files against other processes. Errors are a :class:`FileProblem` with a sentence for a person.
Plugins provide a :class:`LearnedSource`, so that everything they learned is listed together.
"""

from __future__ import annotations

from .chat import Chat, storable
from .learned import LearnedSource
from .text_file import MAX_FILE_BYTES, FileProblem, TextFile, locked

__all__ = [
    "MAX_FILE_BYTES",
    "Chat",
    "FileProblem",
    "LearnedSource",
    "TextFile",
    "locked",
    "storable",
]
