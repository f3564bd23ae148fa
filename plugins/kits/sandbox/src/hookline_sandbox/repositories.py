"""Finds a repository's folder outside of the workspace: that of a linked worktree or a submodule.

There, ``.git`` is a file that names the folder. A program could write any folder into it, so the
folder counts only if it names the workspace in return, in a file that the program cannot write.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_MAX_LINK_BYTES = 4_096
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", re.MULTILINE)


def outer_repository(workspace: Path) -> Path | None:
    """Return the folder with the workspace's repository if it is outside of the workspace.

    A linked worktree's is that of the main repository (``git rev-parse --git-common-dir``).
    """
    folder = link_target(workspace / ".git")
    if folder is None or folder.is_relative_to(workspace) or not (folder / "HEAD").is_file():
        return None
    back = _text(folder / "gitdir")
    if back:  # a linked worktree
        common = Path(os.path.realpath(folder / (_text(folder / "commondir") or ".")))
        is_listed = folder.parent == common / "worktrees"
        names_workspace = os.path.realpath(folder / back) == str(workspace / ".git")
        return common if is_listed and names_workspace else None
    named = _WORKTREE.search(_text(folder / "config"))  # a submodule
    if named and os.path.realpath(folder / named[1]) == str(workspace):
        return folder
    return None


def link_target(file: Path | str) -> Path | None:
    """Return the real folder that a ``.git`` file names; None if it is not such a file."""
    text = _text(Path(file))
    if not text.startswith("gitdir:"):
        return None
    named = text.removeprefix("gitdir:").strip()
    return Path(os.path.realpath(Path(file).parent / named))


def _text(file: Path) -> str:
    """Return the stripped beginning of a regular file; empty if it cannot be read."""
    try:
        if file.is_symlink() or not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(_MAX_LINK_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
