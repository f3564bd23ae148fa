"""Restores the files of one chat's checkpoint, and says what it would restore."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from contextlib import suppress

from hookline_hookspecs import Paths

from . import rewind, texts
from .errors import CheckpointError
from .folder_state import private_folder, replace_file
from .owned_plan import OwnedPlan, own, with_named_files
from .ownership import Owner, Ownership
from .snapshot_manager import Chat, SnapshotManager
from .store import SavedSnapshot, SnapshotContent


class FileRestorer:
    """Compares folders with checkpoints and restores them. ``now`` is the host's time."""

    def __init__(self, snapshots: SnapshotManager, paths: Paths, chat: Chat, now: float) -> None:
        self._snapshots = snapshots
        self._paths = paths
        self._chat = chat
        self._now = now

    async def compare(self, target: SavedSnapshot, within: str) -> OwnedPlan:
        """Return what differs from the checkpoint, only at ``within`` if it is given.

        Raises ``CheckpointError`` and ``OSError``.
        """
        scope = self._snapshots.scope(target.folder, self._paths)
        content, calls = await self._wanted(target)
        async with self._snapshots.holding(target.folder):
            seen = await self._snapshots.observe(scope, None, _forced(content, calls))
        return own(seen.present, content, calls, within)

    async def restore(self, target: SavedSnapshot, within: str, owners: Collection[Owner]) -> str:
        """Take back what ``owners`` changed since the checkpoint, and return what was done.

        The present state is saved first. Raises ``CheckpointError`` and ``OSError``.
        """
        keeper = self._snapshots
        scope = keeper.scope(target.folder, self._paths)
        about = {"title": f"/rewind {target.commit[: texts.HASH_CHARS]}", "kind": "rewind"}
        async with keeper.holding(target.folder):
            content, calls = await self._wanted(target)
            present, label = await keeper.save(
                scope, self._chat, self._now, about, forced_paths=_forced(content, calls)
            )
            files = own(present, content, calls, within)
            _require_known(within, files)
            work = rewind.without_read_only(
                files.chosen(owners, within),
                lambda path: self._paths.write_refusal(target.folder / path) is not None,
            )
            done = await self._apply(target, files, work)
        with suppress(CheckpointError, OSError):
            await keeper.keep_histories(present, target.folder, label.ref, self._now)
        await asyncio.to_thread(self._store_notice, texts.model_notice(target, within, done))
        left = files.left(owners, within)
        return texts.rewound(target, within, done, left, present.commit)

    async def _apply(
        self, target: SavedSnapshot, files: OwnedPlan, work: rewind.RewindPlan
    ) -> rewind.RewindResult:
        """Apply ``work``; a mark on disk shows that it runs."""
        keeper, present = self._snapshots, files.present
        mark = keeper.rewind_mark_path(target.folder)
        record = json.dumps({"target": target.commit, "undo": present.commit}).encode()
        await asyncio.to_thread(replace_file, mark, record)
        log = keeper.change_log(target.folder)
        await asyncio.to_thread(log.add, self._chat.key, self._now, files.changes(work))
        try:
            done = await rewind.apply_plan(
                keeper.store, target.folder, present, files.content, work
            )
        except (CheckpointError, OSError) as error:
            hint = texts.interrupted(target.commit, present.commit)
            raise CheckpointError(f"{error}. {hint}") from error
        await asyncio.to_thread(mark.unlink, missing_ok=True)
        return done

    async def _wanted(self, target: SavedSnapshot) -> tuple[SnapshotContent, Ownership]:
        """Return what the checkpoint holds, and who changed what since."""
        log = self._snapshots.change_log(target.folder)
        recorded = await asyncio.to_thread(log.since, target.time)
        calls = Ownership(recorded, self._chat.key)
        content = await self._snapshots.store.content(target.commit)
        return with_named_files(content, calls), calls

    def _store_notice(self, text: str) -> None:
        """Store a notice for the model's next turn in this chat."""
        path = self._snapshots.notice_path(self._chat)
        with suppress(OSError):
            private_folder(path.parent)
            replace_file(path, text.encode("utf-8", "backslashreplace"))


def _forced(content: SnapshotContent, calls: Ownership) -> set[str]:
    """Return the files to look at even if they are ignored by now."""
    return {*content.files, *calls.named}


def _require_known(within: str, files: OwnedPlan) -> None:
    """Raise ``CheckpointError`` if the path exists neither in the snapshot nor now."""
    if not within:
        return
    content: SnapshotContent = files.content
    present: Mapping[str, object] = files.present.files
    known = (*content.files, *content.folders, *present)
    if not any(path == within or path.startswith(within + "/") for path in known):
        why = content.skipped.get(within) or content.skipped.get(within + "/")
        reason = f": {rewind.SKIP_REASONS.get(why, why)}" if why else ""
        raise CheckpointError(f"The checkpoint does not hold {texts.name(within)}{reason}.")
