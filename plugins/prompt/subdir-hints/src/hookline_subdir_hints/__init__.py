"""Hookline plugin ``subdir-hints``: adds a folder's ``AGENTS.md`` when a tool touches the folder.

Reached by the entry point ``hookline_subdir_hints:SubdirHints``; it implements the hook
``post_tool`` and listens to the signal ``compacted``.
"""

from .config import SubdirHintsConfig
from .plugin import SubdirHints

__all__ = ["SubdirHints", "SubdirHintsConfig"]
