"""Hookline plugin ``tool-cache``: answers repeated tool calls from memory.

Reached by the entry point ``hookline_tool_cache:ToolCache``; it implements the hooks ``pre_tool``
and ``post_tool``.
"""

from .config import ToolCacheConfig
from .plugin import ToolCache

__all__ = ["ToolCache", "ToolCacheConfig"]
