"""Hookline plugin ``memory``: notes in the prompt, and facts that are recalled when they matter.

Reached by the entry point ``hookline_memory:Memory``. :mod:`.notes` and :mod:`.notefile` are the
notes and their files, :mod:`.facts` the facts and their search, :mod:`.changes` makes the changes
that the tool asks for, :mod:`.log` knows what was changed and takes it back.
"""

from .config import MemoryConfig
from .plugin import Memory

__all__ = ["Memory", "MemoryConfig"]
