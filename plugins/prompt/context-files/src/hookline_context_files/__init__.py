"""Hookline plugin ``context-files``: ``SOUL.md``, project files and per-chat files in the prompt.

Reached by the entry point ``hookline_context_files:ContextFiles``; it implements the hook
``system_prompt`` and nothing else.
"""

from .config import ContextFilesConfig
from .plugin import ContextFiles

__all__ = ["ContextFiles", "ContextFilesConfig"]
