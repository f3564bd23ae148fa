"""Hookline plugin ``checkpoints``: saves a folder before the first write of a turn.

The entry point is ``hookline_checkpoints:Checkpoints``. It wraps tool calls (``around_tool``)
and adds the command ``/rewind``.
"""

from .config import CheckpointsConfig
from .plugin import Checkpoints

__all__ = ["Checkpoints", "CheckpointsConfig"]
