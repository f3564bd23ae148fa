"""The service ``FileHistory``: compares a workspace with its checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path

from hookline_hookspecs.paths import Paths
from hookline_hookspecs.workspaces import ChangeKind, FileChanges

from .errors import CheckpointError
from .snapshot_manager import NAMED, Chat, SnapshotManager
from .store import SavedSnapshot, SnapshotContent

COMPARE_TIMEOUT = 30.0
"""Seconds for comparing a workspace with a checkpoint."""


class CheckpointHistory:
    """Implements ``FileHistory`` with the snapshots of chats."""

    def __init__(self, snapshots: SnapshotManager, now: Callable[[], float]) -> None:
        self._snapshots, self._now = snapshots, now

    async def changes(
        self, sessions: Collection[str], chat: tuple[str, str], paths: Paths, *, first: bool = False
    ) -> FileChanges | None:
        """Return what has changed; None without a checkpoint, or if it cannot be compared."""
        try:
            async with asyncio.timeout(COMPARE_TIMEOUT):
                saved = await self._saved(sessions, chat, paths.workspace)
                if not saved:
                    return None
                since = saved[-1 if first else 0]
                old = await self._snapshots.store.content(since.commit)
                new = await self._present(paths)
        except (CheckpointError, OSError, TimeoutError):
            return None
        return FileChanges(since.time, _compared(old, new))

    async def before(
        self, sessions: Collection[str], chat: tuple[str, str], paths: Paths, path: str
    ) -> bytes | None:
        """Return a file of the last checkpoint."""
        try:
            saved = await self._saved(sessions, chat, paths.workspace)
            if not saved:
                return None
            content = await self._snapshots.store.content(saved[0].commit)
            known = content.files.get(path)
            if known is None:
                return None
            async for data in self._snapshots.store.blobs([known[1]]):
                return data
        except (CheckpointError, OSError):
            pass
        return None

    async def _saved(
        self, sessions: Collection[str], chat: tuple[str, str], folder: Path
    ) -> list[SavedSnapshot]:
        """Return the sessions' snapshots of the folder, newest first."""
        found = await self._snapshots.of_chat(Chat(*chat), self._now())
        return [
            one
            for one in found
            if one.folder == folder
            and one.about.get("session") in sessions
            and one.about.get("kind") != NAMED
        ]

    async def _present(self, paths: Paths) -> SnapshotContent:
        scope = self._snapshots.scope(paths.workspace, paths)
        async with self._snapshots.holding(paths.workspace):
            present = await self._snapshots.present(scope)
        return await self._snapshots.store.content(present.commit)


def _compared(old: SnapshotContent, new: SnapshotContent) -> dict[str, ChangeKind]:
    found: dict[str, ChangeKind] = {}
    for path in old.files.keys() | new.files.keys():
        if old.files.get(path) == new.files.get(path):
            continue
        if path not in old.files:
            if path not in old.skipped:  # not known before
                found[path] = "added"
        elif path not in new.files:
            if path not in new.skipped:
                found[path] = "deleted"
        else:
            found[path] = "changed"
    return found
