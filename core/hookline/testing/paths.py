"""The real guard of paths, for tests of a plugin that need no core beside it."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Paths

from hookline.io.paths import PathGuard


def guarded_paths(workspace: Path, home: Path) -> Paths:
    """What ``ctx.paths`` is in a session with this workspace and this home."""
    return PathGuard(workspace, [], home)
