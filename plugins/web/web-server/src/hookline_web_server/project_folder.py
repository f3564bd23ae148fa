"""Asks whether the page's chats shall work in the project in which ``hookline web`` was started."""

from __future__ import annotations

import sys
from pathlib import Path

from hookline_hookspecs import Host
from hookline_hookspecs.web import Problem
from hookline_hookspecs.workspaces import WorkFolders

YES = ("", "y", "yes")


def find_project() -> Path | None:
    """Return the current folder if it is in a git repository, else None."""
    try:
        here = Path.cwd()
    except OSError:
        return None
    home = Path.home()
    for folder in (here, *here.parents):
        if folder == home:
            return None
        if (folder / ".git").exists():
            return here
    return None


async def use_project(host: Host, *, is_running: bool) -> None:
    """Let the operator's new chats work in the project, if the person agrees once.

    Args:
        host: the plugin's host.
        is_running: whether another process is the gateway, in which the folder can only be chosen.
    """
    folders = host.services.get(WorkFolders)
    project = find_project()
    if folders is None or project is None:
        return
    is_known = await folders.is_known(project)
    if not is_known and not _agrees(project):
        return
    try:
        await folders.begin_in(project)
    except Problem as problem:
        _say(problem.message)
        return
    if not is_running:
        _say(f"New chats work in {project}.")
    elif not is_known:
        _say(f"You can choose {project} below the message box.")


def _agrees(project: Path) -> bool:
    """Ask in a terminal; without one the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _say(f"Let chats on the page work in {project}? The agent can then read and change its files.")
    sys.stderr.write("[Y/n] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in YES


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
