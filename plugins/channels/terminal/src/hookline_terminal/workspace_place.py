"""The folder that a session works in, and its git branch, for the status line."""

from __future__ import annotations

from pathlib import Path

from hookline_markdown import literal, width_of

MAX_COLUMNS = 32
"""Columns of a folder or a branch."""
_HEAD_CHARS = 4_096


def folder_name(folder: Path, home: Path) -> str:
    """Return a folder as people write it: ``~/src/shop``, or of a long one the last parts."""
    shown = folder
    if folder.is_relative_to(home) and folder != home:
        shown = "~" / folder.relative_to(home)
    text = "~" if folder == home else literal(str(shown))
    parts = text.split("/")
    while width_of(text) > MAX_COLUMNS and len(parts) > 1:
        parts = parts[1:]
        text = "/".join(["…", *parts])
    return _end(text)


def branch_name(folder: Path) -> str:
    """Return the branch, or the beginning of the commit, that is checked out in ``folder``.

    Empty without a repository. Its files are read; no git is run.
    """
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return _branch(place / ".git")
    return ""


def _branch(git: Path) -> str:
    try:
        if git.is_file():  # a linked worktree or a submodule
            git = git.parent / _start(git).removeprefix("gitdir:").strip()
        head = _start(git / "HEAD").strip()
    except (OSError, ValueError):
        return ""
    name = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
    return _end(literal(name))


def _start(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(_HEAD_CHARS)


def _end(text: str) -> str:
    return text if width_of(text) <= MAX_COLUMNS else "…" + text[1 - MAX_COLUMNS :]
