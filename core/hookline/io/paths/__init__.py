"""Guarded file access: decides which paths a model or user may use, and opens files safely.

Plugins use it as ``host.paths`` or ``ctx.paths``, a `PathGuard` for one workspace.
"""

from .file_access import PathRefused
from .guard import WALK_LIMIT, PathGuard
from .shape import MAX_NAME, MAX_PATH

__all__ = ["MAX_NAME", "MAX_PATH", "WALK_LIMIT", "PathGuard", "PathRefused"]
