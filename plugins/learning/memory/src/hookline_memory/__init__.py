"""Hookline plugin ``memory``: notes in every prompt, and facts recalled when relevant.

:mod:`.notes` and :mod:`.note_file` are the notes and their files, :mod:`.facts` stores and finds
facts, :mod:`.recall` adds them to a message, :mod:`.changes` makes the changes that the tool
requests, :mod:`.change_log` records and reverts them.
"""

from .config import MemoryConfig
from .plugin import Memory

__all__ = ["Memory", "MemoryConfig"]
