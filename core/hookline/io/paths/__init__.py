"""Guarded file access: which paths a model or a user may name, and how they are opened.

A plugin reaches it as ``host.paths`` or ``ctx.paths``, a `PathGuard` bound to one workspace.
"""

from .file_access import PathRefused
from .guard import WALK_LIMIT, PathGuard
from .shape import MAX_NAME, MAX_PATH

__all__ = ["MAX_NAME", "MAX_PATH", "WALK_LIMIT", "PathGuard", "PathRefused"]
