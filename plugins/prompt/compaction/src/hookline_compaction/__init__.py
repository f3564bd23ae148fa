"""Hookline plugin ``compaction``: shortens a conversation before it outgrows the model's window.

Reached by the entry point ``hookline_compaction:Compaction``; it implements ``pre_model`` and
``around_model`` and adds the command ``/compact``.
"""

from .config import CompactionConfig
from .plugin import Compaction

__all__ = ["Compaction", "CompactionConfig"]
