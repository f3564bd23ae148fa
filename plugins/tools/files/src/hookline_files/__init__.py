"""Hookline plugin ``files``: read, write, edit, list, glob and grep files of the workspace.

Reached by the entry point ``hookline_files:Files``; every path passes ``ctx.paths``.
"""

from .config import FilesConfig
from .plugin import Files

__all__ = ["Files", "FilesConfig"]
