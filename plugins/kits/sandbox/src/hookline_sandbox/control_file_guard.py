"""Keeps and compares control files around commands, of which several may run in one workspace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .control_files import Changes, Kept, PutAside, put_in_place
from .put_back_journal import PutBackJournal
from .sandbox import Places, Sandbox

WATCH_INTERVAL = 2.0
"""Seconds between two comparisons while background processes run."""


@dataclass(slots=True)
class _Workspace:
    """What is known of one workspace.

    ``running`` counts commands. ``changes`` is what was undone while they ran. ``left_by`` are the
    sandboxes with processes that a command left: while there is one, a change is theirs and not a
    person's.
    """

    kept: Kept
    running: int = 0
    changes: Changes = field(default_factory=Changes)
    left_by: set[str] = field(default_factory=set)
    watch: asyncio.Task[None] | None = None

    @property
    def is_in_use(self) -> bool:
        """Whether programs of a sandbox may change something."""
        return bool(self.running or self.left_by)

    def take(self, changes: Changes | None = None) -> Changes:
        """Return these changes and those before, which are then forgotten."""
        self.add(changes or Changes())
        found, self.changes = self.changes, Changes()
        return found

    def add(self, changes: Changes) -> None:
        """Note changes for whoever looks next; of one path only the last."""
        undone = sorted({*self.changes.undone, *changes.undone})
        aside = {each.path: each for each in (*self.changes.aside, *changes.aside)}
        self.changes = Changes(undone, list(aside.values()))


class ControlFileGuard:
    """Compares before and after every command of every sandbox that works in a workspace.

    The state before is kept once for all commands that overlap: what one of them just wrote must
    not count as the state before another. It is also in a journal, for the case that this process
    is killed.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._workspaces: dict[Path, _Workspace] = {}
        self._journal = PutBackJournal(sandbox.home)

    async def before(self, places: Places) -> Changes:
        """Prepare for a command; return what a background process had changed."""
        known = self._workspaces.get(places.workspace)
        if known is not None and known.running:
            known.running += 1
            return Changes()
        changes = Changes()
        if known is not None and known.left_by:
            changes = known.take(await self._undone(known, places))
        kept = await asyncio.to_thread(self._sandbox.keep, places)
        known = self._workspaces.setdefault(places.workspace, _Workspace(kept))
        if not known.running:
            known.kept = kept
            await asyncio.to_thread(self._journal.write, places.workspace, kept)
        known.running += 1
        return changes

    def started(self, places: Places, process: int) -> None:
        """Note the process of a sandbox, whose end the next Hookline has to wait for."""
        self._journal.add_process(places.workspace, process)

    async def put_back_now(self, places: Places) -> None:
        """Undo what programs that still run have changed; nothing if none do.

        It is part of what :meth:`before` or :meth:`after` returns next.
        """
        known = self._workspaces.get(places.workspace)
        if known is not None and known.is_in_use:
            known.add(await self._undone(known, places))

    def kept(self, places: Places) -> Iterable[str]:
        """Return the paths that are kept whole while commands run in the workspace."""
        known = self._workspaces.get(places.workspace)
        return known.kept.trees if known is not None and known.running else ()

    async def after(self, places: Places, key: str, *, left_running: bool) -> Changes:
        """Undo what a command changed in the sandbox ``key``, and return that."""
        known = self._workspaces[places.workspace]
        changes = known.take(await self._undone(known, places))
        known.running -= 1
        if left_running:
            known.left_by.add(key)
            if known.watch is None:
                known.watch = asyncio.create_task(self._watch(known, places))
        else:
            known.left_by.discard(key)
        await self._forget(known, places)
        return changes

    async def put_in_place(self, places: Places, aside: PutAside) -> bool:
        """Write what a person has allowed, and return whether that worked."""
        known = self._workspaces.get(places.workspace)
        kept = known.kept if known is not None else None
        done = await asyncio.to_thread(put_in_place, aside, kept)
        if known is not None and known.is_in_use:
            await asyncio.to_thread(self._journal.write, places.workspace, known.kept)
        return done

    async def around_outside(self, places: Places) -> Changes:
        """Call it before and after a command outside of the sandbox, which may run what control
        files say. Return what was put back, because processes of a sandbox may have changed it:
        none is kept while they run, not even what the command itself changed."""
        known = self._workspaces.get(places.workspace)
        if known is None or not known.is_in_use:
            return Changes()
        return await self._undone(known, places)

    async def ended(self, places: Places, key: str) -> None:
        """Undo what the processes of a sandbox that has ended had changed."""
        known = self._workspaces.get(places.workspace)
        if known is None or key not in known.left_by:
            return
        known.add(await self._undone(known, places))
        known.left_by.discard(key)
        await self._forget(known, places)

    def close(self) -> None:
        """Close the journal, after every sandbox has ended."""
        for known in self._workspaces.values():
            if known.watch is not None:
                known.watch.cancel()
        self._journal.close()

    async def _undone(self, known: _Workspace, places: Places) -> Changes:
        return await asyncio.to_thread(self._sandbox.put_back, known.kept, places)

    async def _forget(self, known: _Workspace, places: Places) -> None:
        """From now on, changes are a person's, unless programs still run."""
        if known.is_in_use:
            return
        if known.watch is not None:
            known.watch.cancel()
            known.watch = None
        await asyncio.to_thread(self._journal.clear, places.workspace)

    async def _watch(self, known: _Workspace, places: Places) -> None:
        """Undo what background processes change, until they end."""
        while known.left_by:
            await asyncio.sleep(WATCH_INTERVAL)
            with contextlib.suppress(OSError):
                known.add(await self._undone(known, places))
