"""Keeps and compares control files around commands, of which several may run in one workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .control_files import Kept
from .sandbox import Places, Sandbox


@dataclass(slots=True)
class _Workspace:
    """What is known of one workspace.

    ``running`` counts commands. ``undone`` is what was put back while they ran. ``left_by`` are the
    sandboxes with processes that a command left: while there is one, a change is theirs and not a
    person's.
    """

    kept: Kept
    running: int = 0
    undone: set[str] = field(default_factory=set)
    left_by: set[str] = field(default_factory=set)


class ControlFileGuard:
    """Compares before and after every command of every sandbox that works in a workspace.

    The state before is kept once for all commands that overlap: what one of them just wrote must
    not count as the state before another.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._workspaces: dict[Path, _Workspace] = {}

    async def before(self, places: Places) -> list[str]:
        """Prepare for a command; return what a background process had changed and was put back."""
        known = self._workspaces.get(places.workspace)
        undone: list[str] = []
        if known is not None and known.running:
            known.running += 1
            return undone
        if known is not None and known.left_by:
            undone = _all_undone(
                known, await asyncio.to_thread(self._sandbox.put_back, known.kept, places)
            )
        kept = await asyncio.to_thread(self._sandbox.keep, places)
        known = self._workspaces.setdefault(places.workspace, _Workspace(kept))
        if not known.running:
            known.kept = kept
        known.running += 1
        return undone

    async def put_back_now(self, places: Places) -> None:
        """Put back what programs that still run have changed; nothing if none do.

        It is part of what :meth:`before` or :meth:`after` returns next.
        """
        known = self._workspaces.get(places.workspace)
        if known is not None and (known.running or known.left_by):
            undone = await asyncio.to_thread(self._sandbox.put_back, known.kept, places)
            known.undone.update(undone)

    def kept(self, places: Places) -> Iterable[str]:
        """Return the paths that are kept whole while commands run in the workspace."""
        known = self._workspaces.get(places.workspace)
        return known.kept.trees if known is not None and known.running else ()

    async def after(self, places: Places, key: str, *, left_running: bool) -> list[str]:
        """Put back what a command changed in the sandbox ``key``, and return that."""
        known = self._workspaces[places.workspace]
        undone = await asyncio.to_thread(self._sandbox.put_back, known.kept, places)
        undone = _all_undone(known, undone)
        known.running -= 1
        if left_running:
            known.left_by.add(key)
        else:
            known.left_by.discard(key)
        return undone

    async def around_outside(self, places: Places) -> list[str]:
        """Call it before and after a command outside of the sandbox, which may run what control
        files say. Return what was put back, because processes of a sandbox may have changed it:
        none is kept while they run, not even what the command itself changed."""
        known = self._workspaces.get(places.workspace)
        if known is None or not (known.running or known.left_by):
            return []
        return await asyncio.to_thread(self._sandbox.put_back, known.kept, places)

    async def ended(self, places: Places, key: str) -> list[str]:
        """Put back what the processes of a sandbox that has ended had changed."""
        known = self._workspaces.get(places.workspace)
        if known is None or key not in known.left_by:
            return []
        undone = await asyncio.to_thread(self._sandbox.put_back, known.kept, places)
        known.left_by.discard(key)
        return undone


def _all_undone(known: _Workspace, undone: list[str]) -> list[str]:
    """Return what was put back now and before, once."""
    found = sorted({*known.undone, *undone})
    known.undone.clear()
    return found
