"""Hookline plugin ``context-refs``: attaches what ``@file:…`` and the like in a message refer to.

Reached by the entry point ``hookline_context_refs:ContextRefs``.
"""

from .config import ContextRefsConfig
from .plugin import ContextRefs

__all__ = ["ContextRefs", "ContextRefsConfig"]
