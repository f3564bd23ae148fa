"""Hookline plugin ``memory``: notes in the prompt, and facts that are recalled when they are
relevant.

Reached by the entry point ``hookline_memory:Memory``. :mod:`.notes` and :mod:`.notefile` are the
notes and their files, :mod:`.facts` the facts and their search, :mod:`.changes` makes the changes
that the tool requests, :mod:`.log` records them and reverts them.
"""

from .config import MemoryConfig
from .plugin import Memory

__all__ = ["Memory", "MemoryConfig"]
