"""Manages all snapshots: folders, chats, locks and limits around the store.

``home/checkpoints`` contains ``store`` (the repository), ``folders/KEY`` (the state of each folder
and what the agent changed in it), ``history/KEY`` (the history of a repository of the person),
``told/KEY`` (the pending notice for a chat's model) and the locks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Paths

from . import locks
from .change_log import ChangeLog
from .config import CheckpointsConfig
from .errors import CheckpointError
from .exclusion_rules import ExclusionRules
from .folder_state import FolderState, FolderStates
from .history_store import HistoryStore
from .skipped_folders import SkippedFolders
from .snapshot import Observation, Present, SnapshotLabel, key_of, observe, take
from .store import PRESENT, SavedSnapshot, SnapshotStore, folder_key_of, new_ref
from .survey import Scope

MAX_PACKS = 30
"""Packs, one for each snapshot; more are merged, which also frees pruned objects."""
MAX_LABELS_FACTOR = 5
"""Snapshots without changes are kept up to this many times ``max_snapshots``."""
NAMED = "named"
"""The kind of a snapshot that only adds ignored files which a later call of the turn names; lists
leave it out."""
_PRUNE_LOCK_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class Chat:
    """The chat that owns snapshots."""

    channel: str
    chat_id: str

    @property
    def key(self) -> str:
        """The chat's part of a ref."""
        return key_of(self.channel, self.chat_id)


class SnapshotManager:
    """Takes, finds and prunes snapshots below ``home/checkpoints``."""

    def __init__(self, home: Path, config: CheckpointsConfig) -> None:
        self.home = home.resolve()
        self.root = self.home / "checkpoints"
        self.store = SnapshotStore(self.root / "store")
        self.histories = HistoryStore(self.root, config.max_history_bytes)
        self._config = config
        self._states = FolderStates(self.root / "folders")
        self._excluded = ExclusionRules.of(config.exclude, config.keep)
        self._given_up = SkippedFolders(self.root / "folders", config)

    def rewind_mark_path(self, folder: Path) -> Path:
        """Return the file that marks a running rewind of the folder; it is removed at the end."""
        return self.root / "folders" / key_of(str(folder)) / "rewinding.json"

    def notice_path(self, chat: Chat) -> Path:
        """Return the file with the pending notice about a rewind for the chat's model."""
        return self.root / "told" / chat.key

    def change_log(self, folder: Path) -> ChangeLog:
        """Return the record of the calls that changed the folder."""
        return ChangeLog(self.root / "folders" / key_of(str(folder)) / "changes")

    def is_given_up(self, folder: Path, now: float) -> bool:
        """Whether the folder is skipped because it was too large or slow."""
        return self._given_up.is_skipped(key_of(str(folder)), now)

    def give_up(self, folder: Path, now: float) -> None:
        """Skip the folder for a day. Raises ``OSError``."""
        self._given_up.add(key_of(str(folder)), now)

    def is_history_given_up(self, folder: Path, now: float) -> bool:
        """Whether the histories in the folder are not kept because that took too long."""
        return self._given_up.is_skipped(key_of("history", str(folder)), now)

    def scope(self, folder: Path, paths: Paths) -> Scope:
        """Return the scope of a survey of ``folder``. Raises ``CheckpointError`` if it may not be
        saved."""
        if folder == self.home or folder.is_relative_to(self.root):
            raise CheckpointError("it is Hookline's own folder")
        if reason := paths.check_path(str(folder)):
            raise CheckpointError(reason)
        return Scope(
            path=folder,
            own=str(self.home.relative_to(folder)) if self.home.is_relative_to(folder) else "",
            excluded=self._excluded,
            check_path=paths.check_path,
            git=self.store.git,
            max_file=self._config.max_file_bytes,
            max_files=self._config.max_files,
        )

    @asynccontextmanager
    async def holding(self, folder: Path) -> AsyncIterator[None]:
        """Lock the folder against other snapshots and rewinds, and the store against pruning."""
        place = self.root / "folders" / key_of(str(folder))
        async with locks.shared(self.root / "lock"), locks.exclusive(place / "lock"):
            yield

    async def present(self, scope: Scope) -> Present:
        """Return the folder's current state without a snapshot; use it within ``holding``."""
        return await self._take(scope, None)

    async def save(
        self,
        scope: Scope,
        chat: Chat,
        now: float,
        about: dict[str, str],
        forced_paths: Iterable[str] = (),
    ) -> tuple[Present, SnapshotLabel]:
        """Take a snapshot that the chat can go back to; use it within ``holding``. ``now`` is Unix
        time, ``about`` describes it in lists. Raises like ``snapshot.take``."""
        ref = new_ref(chat.key, key_of(str(scope.path)), now)
        label = SnapshotLabel(ref, {**about, "folder": str(scope.path)})
        return await self._take(scope, label, forced_paths), label

    async def _take(
        self, scope: Scope, label: SnapshotLabel | None, forced_paths: Iterable[str] = ()
    ) -> Present:
        return await take(
            self.store,
            self._states,
            scope,
            label=label,
            forced_paths=forced_paths,
            max_bytes=self._config.max_store_bytes,
        )

    async def observe(
        self, scope: Scope, last: FolderState | None, forced_paths: Iterable[str]
    ) -> Observation:
        """Find out what the folder holds, without a snapshot. ``last`` is the state of the turn's
        last observation. Raises like ``snapshot.observe``."""
        if last is None:
            last = await asyncio.to_thread(self._states.load, key_of(str(scope.path)))
        return await observe(scope, last, forced_paths)

    async def keep_histories(self, present: Present, folder: Path, ref: str, now: float) -> str:
        """Keep the histories of the repositories in the folder for the snapshot ``ref``; return why
        one is not kept, for the person, once a day. Raises ``OSError``."""
        mark = key_of("history", str(folder))
        places = sorted(path.rstrip("/") for path, why in present.skipped.items() if why == "git")
        if not places or self._given_up.is_skipped(mark, now):
            return ""
        try:
            async with asyncio.timeout(self._config.timeout_seconds):
                failed = await self.histories.keep(folder, ref, places)
        except TimeoutError:
            failed = [f"it took longer than {self._config.timeout_seconds:g} s"]
            await asyncio.to_thread(self._given_up.add, mark, now)
        reasons = "; ".join(failed)
        return f"The history of the repository is not kept: {reasons}." if failed else ""

    async def of_chat(self, chat: Chat, now: float) -> list[SavedSnapshot]:
        """Return the chat's snapshots, newest first, at most ``max_snapshots`` different ones per
        folder. Of equal consecutive ones only the newest counts. Raises ``GitFailed``."""
        found = await self.store.saved(chat.key)
        listed = [saved for saved in found if saved.about.get("kind") != NAMED]
        return [saved for group in self._groups(listed, now) for saved in group[:1]]

    async def find(self, chat: Chat, prefix: str, now: float) -> list[SavedSnapshot]:
        """Return the chat's snapshots whose id begins with ``prefix``, including equal consecutive
        ones."""
        found = await self.store.saved(chat.key)
        kept = [saved for group in self._groups(found, now) for saved in group]
        return [saved for saved in kept if saved.commit.startswith(prefix)]

    def _groups(
        self, newest_first: Sequence[SavedSnapshot], now: float
    ) -> list[list[SavedSnapshot]]:
        """Return the snapshots to keep; equal consecutive ones of a chat and folder are grouped."""
        groups: list[list[SavedSnapshot]] = []
        last: dict[str, list[SavedSnapshot]] = {}
        distinct: dict[str, int] = {}
        kept: dict[str, int] = {}
        oldest = now - self._config.max_days * 86_400
        for saved in newest_first:
            place = saved.ref.rpartition("/")[0]
            if (
                saved.time < oldest
                or kept.get(place, 0) >= MAX_LABELS_FACTOR * self._config.max_snapshots
            ):
                continue
            if saved.about.get("kind") == NAMED:
                groups.append([saved])
                continue
            group = last.get(place)
            if group is None or group[0].root != saved.root:
                if distinct.get(place, 0) >= self._config.max_snapshots:
                    continue
                distinct[place] = distinct.get(place, 0) + 1
                group = last[place] = []
                groups.append(group)
            group.append(saved)
            kept[place] = kept.get(place, 0) + 1
        return groups

    async def prune(self, now: float, packs: int = MAX_PACKS) -> bool:
        """Drop snapshots beyond the limits; free their space once there are more than ``packs``
        packs, or the store is too large.

        Returns False if another process holds the lock; try again later.
        Raises ``GitFailed``.
        """
        if not self.store.directory.is_dir():
            return True
        lock = locks.exclusive(self.root / "lock")
        try:
            async with asyncio.timeout(_PRUNE_LOCK_TIMEOUT):
                holding = await lock.__aenter__()
        except TimeoutError:
            return False
        try:
            await self._prune(now, packs, holding)
        finally:
            await lock.__aexit__(None, None, None)
        return True

    async def _prune(self, now: float, most_packs: int, holding: int) -> None:
        await asyncio.to_thread(self.store.tidy)
        everything = await self.store.saved()
        kept = [saved for group in self._groups(everything, now) for saved in group]
        size, packs = await asyncio.to_thread(self.store.size)
        if size > self._config.max_store_bytes:
            kept = await self._fitting(kept)
        await asyncio.to_thread(self._drop_records, kept, now)
        await self.histories.prune([saved.ref for saved in kept], holding)
        if not kept:  # git keeps the packs of a repository without refs
            await asyncio.to_thread(self.store.remove)
            return
        await self._drop(everything, kept, holding)
        if packs > most_packs or size > self._config.max_store_bytes:
            await self.store.free(holding)

    def _drop_records(self, kept: Sequence[SavedSnapshot], now: float) -> None:
        """Delete the records of calls from before a folder's oldest snapshot."""
        oldest: dict[str, float] = {}
        for saved in kept:
            key = folder_key_of(saved.ref)
            oldest[key] = min(saved.time, oldest.get(key, now))
        for place in (self.root / "folders").iterdir():
            ChangeLog(place / "changes").drop_before(oldest.get(place.name, now))

    async def _fitting(self, kept: list[SavedSnapshot]) -> list[SavedSnapshot]:
        """Return as many of the newest snapshots as fit into the store."""
        newest_first = sorted(kept, key=lambda saved: saved.time, reverse=True)
        low, high = 0, len(newest_first)
        while low < high:
            middle = (low + high + 1) // 2
            used = await self.store.usage([saved.commit for saved in newest_first[:middle]])
            low, high = (
                (middle, high) if used <= self._config.max_store_bytes else (low, middle - 1)
            )
        return newest_first[:low]

    async def _drop(
        self, everything: Sequence[SavedSnapshot], kept: Sequence[SavedSnapshot], holding: int
    ) -> None:
        """Delete the refs of dropped snapshots, and of folders without any snapshot left."""
        staying = {saved.ref for saved in kept}
        folders = {folder_key_of(ref) for ref in staying}
        dropped = [saved.ref for saved in everything if saved.ref not in staying]
        for key in await asyncio.to_thread(self.store.presents):
            if key not in folders:
                self._states.forget(key)
                dropped.append(f"{PRESENT}/{key}")
        if dropped:
            await self.store.drop(dropped, holding)
