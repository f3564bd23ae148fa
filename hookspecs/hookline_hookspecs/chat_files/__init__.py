"""Files that belong to a chat, for plugins that keep what people may edit by hand.

:class:`Chat` says where they are, :class:`TextFile` reads and replaces one, :func:`locked` keeps
other processes away meanwhile. What goes wrong is a :class:`FileProblem`, a sentence for a person.
:class:`LearnedSource` is what plugins offer so that everything learnt is listed together.
"""

from __future__ import annotations

from .chat import Chat, storable
from .learned import LearnedSource
from .text_file import LARGEST, FileProblem, TextFile, locked

__all__ = ["LARGEST", "Chat", "FileProblem", "LearnedSource", "TextFile", "locked", "storable"]
