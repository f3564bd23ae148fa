"""Hookline plugin ``context-refs``: what ``@file:…`` and its kin in a message name is attached.

Reached by the entry point ``hookline_context_refs:ContextRefs``.
"""

from .config import ContextRefsConfig
from .plugin import ContextRefs

__all__ = ["ContextRefs", "ContextRefsConfig"]
