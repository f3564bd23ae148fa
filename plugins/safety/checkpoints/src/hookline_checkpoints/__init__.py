"""Hookline plugin ``checkpoints``: saves a folder before the first write of a turn.

Reached by the entry point ``hookline_checkpoints:Checkpoints``; it wraps tool calls
(``around_tool``) and brings the command ``/rewind``.
"""

from .config import CheckpointsConfig
from .plugin import Checkpoints

__all__ = ["Checkpoints", "CheckpointsConfig"]
