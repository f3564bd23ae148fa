"""The real path guard, for plugin tests that do not need the rest of core."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Paths

from hookline.io.paths import PathGuard


def guarded_paths(workspace: Path, home: Path) -> Paths:
    """Create the ``ctx.paths`` of a session with this workspace and home."""
    return PathGuard(workspace, [], home)
