"""Synchronizes the notes, profiles and skills of homes that share a store.

The table ``files`` is authoritative; a home's files are copies of it. A file that differs from the
last synchronized version (`SyncedVersion`) was changed here, by Hookline or by hand. It is written
to the table unless the table has changed too (compare-and-set on the version). If both have
changed, this home's text wins, and the other is kept in ``plugins/shared-files/conflicts/``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hookline_hookspecs import Host, Inspection
from hookline_hookspecs.drivers import Connection, Store

TOPIC = "storage:files"
MAX_FILE_BYTES = 1_000_000
"""Larger files are not shared."""
SKILLS = "skills"
ROOTS = ("memories", "chats", SKILLS)
NOTES = ("MEMORY.md", "USER.md")
"""Files shared below ``memories`` and ``chats``; below ``skills``, all files but hidden ones."""
OVERLAP_SECONDS = 60.0
"""Changes of this period are read again, because they may be committed out of order."""
MAX_EARLIER_VERSIONS = 20
"""How many earlier hashes a file's row keeps."""
MISSING = ""
"""The hash of a missing file."""


@dataclass(frozen=True, slots=True)
class SyncedVersion:
    """The last version of a file that was the same in home and table, and its hash."""

    version: int
    sha: str


class FileMirror:
    """Synchronizes the shared files of one home. See :meth:`sync`."""

    def __init__(
        self,
        store: Store,
        home: Path,
        folder: Path,
        sql: Mapping[str, str],
        log: logging.Logger,
        roots: Sequence[str],
    ) -> None:
        """``folder`` is the plugin's own; ``store`` has the table ``files``; ``roots`` are those
        of `ROOTS` that are shared."""
        self._roots = roots
        self._store = store
        self._home = home
        self._folder = folder
        self._sql = sql
        self._log = log
        self._state_file = folder / "shared-files.json"
        self._busy = asyncio.Lock()
        self._stats: dict[str, tuple[tuple[int, int, int], str]] = {}
        self._unshared: set[str] = set()
        self._changes_read: int | None = None
        self._synced: dict[str, SyncedVersion] = {}
        self._since = 0.0
        self._read_state()

    async def sync(self, *, look: bool = True) -> None:
        """Synchronize home and table; without ``look`` only changes in the table are applied.

        Raises ``StoreError``.
        """
        async with self._busy:
            paths = await self._changed_in_table()
            if look:
                here = await asyncio.to_thread(self._scan)
                paths |= {
                    path
                    for path in here.keys() | self._synced.keys()
                    if here.get(path, MISSING) != self._sha(path)
                }
            table_changed = False
            for path in sorted(paths):
                table_changed |= await self._sync_file(path)
            if paths:
                await asyncio.to_thread(self._write_state)
        if table_changed:
            await self._store.notify(TOPIC, "")

    def _sha(self, path: str) -> str:
        synced = self._synced.get(path)
        return MISSING if synced is None else synced.sha

    async def _changed_in_table(self) -> set[str]:
        """The paths whose version in the table differs from the synchronized one."""
        now = self._store.changes_of("files") if self._store.is_shared else None
        if now is not None and now == self._changes_read:
            return set()
        since = self._since - OVERLAP_SECONDS
        rows = await self._store.read(
            lambda db: db.fetch(self._sql["files_since"], {"since": since})
        )
        found = set()
        for row in rows:
            synced = self._synced.get(row["path"])
            if _is_shared(row["path"], self._roots) and (
                synced is None or synced.version != row["version"]
            ):
                found.add(row["path"])
            self._since = max(self._since, row["changed"])
        self._changes_read = now
        return found

    async def _sync_file(self, path: str) -> bool:
        """Synchronize one file; True if the table was changed."""
        for _ in range(3):
            theirs = await self._row(path)
            ours = await asyncio.to_thread(self._read, path)
            if ours is None:  # it cannot be shared
                return False
            synced = self._synced.get(path, SyncedVersion(0, MISSING))
            if theirs.version < synced.version:  # the table was recreated
                synced = SyncedVersion(0, MISSING)
            if theirs.known(ours.sha) > synced.version:
                # Another process of this home has written it, and a newer version exists.
                synced = SyncedVersion(theirs.known(ours.sha), ours.sha)
            if not synced.version and theirs.body is not None and ours.body is not None:
                # A new home takes over the files of the others.
                if ours.sha != theirs.sha:
                    await asyncio.to_thread(self._keep_conflict, path, ours)
                synced = SyncedVersion(0, ours.sha)
            if ours.sha in (theirs.sha, synced.sha):
                if ours.sha != theirs.sha and not await asyncio.to_thread(
                    self._replace, path, ours.sha, theirs.body
                ):
                    continue  # changed in the meantime
                self._synced[path] = SyncedVersion(theirs.version, theirs.sha)
                return False
            if theirs.version != synced.version and theirs.body is not None:
                await asyncio.to_thread(self._keep_conflict, path, theirs)
            if await self._put(path, ours, theirs):
                self._synced[path] = SyncedVersion(theirs.version + 1, ours.sha)
                return True
        return False  # others were faster each time; the next call synchronizes it

    async def _row(self, path: str) -> _FileVersion:
        rows = await self._store.read(lambda db: db.fetch(self._sql["file"], {"path": path}))
        if not rows:
            return _FileVersion()
        row = rows[0]
        earlier = tuple((version, sha) for version, sha in json.loads(row["earlier"]))
        return _FileVersion(row["version"], row["sha"], row["body"], earlier)

    async def _put(self, path: str, ours: _FileVersion, theirs: _FileVersion) -> bool:
        row: dict[str, Any] = {"path": path, "sha": ours.sha, "body": ours.body}
        earlier = [(theirs.version, theirs.sha), *theirs.earlier][:MAX_EARLIER_VERSIONS]
        row |= {"version": theirs.version, "earlier": json.dumps(earlier)}
        sql = self._sql["change_file" if theirs.version else "add_file"]
        work: Callable[[Connection], int] = lambda db: db.execute(sql, row)  # noqa: E731
        return await self._store.write(work, durable=True) > 0

    # On disk

    def _scan(self) -> dict[str, str]:
        """The hash of each shared file of the home, by path."""
        found = {}
        for path in self._paths():
            with suppress(OSError):
                state = os.stat(self._home / path)  # noqa: PTH116 - many files
                seen = (state.st_mtime_ns, state.st_size, state.st_ino)
                known = self._stats.get(path)
                if known is None or known[0] != seen:
                    text = self._read(path)
                    if text is None:
                        continue
                    known = self._stats[path] = (seen, text.sha)
                found[path] = known[1]
        return found

    def _paths(self) -> Iterator[str]:
        for root in self._roots:
            for folder, folders, names in os.walk(self._home / root):
                folders[:] = [name for name in folders if not name.startswith(".")]
                below = Path(folder).relative_to(self._home).as_posix()
                for name in names:
                    if _is_shared(path := f"{below}/{name}", self._roots):
                        yield path

    def _read(self, path: str) -> _FileVersion | None:
        """The file on disk; None, with a warning in the log, if it cannot be shared."""
        file = self._home / path
        try:
            if not file.is_symlink() and not file.exists():
                return _FileVersion()
            if file.is_symlink() or not file.is_file() or file.stat().st_size > MAX_FILE_BYTES:
                raise ValueError("it is not a regular file, or larger than a megabyte")
            body = file.read_bytes().decode("utf-8")
            if "\0" in body:
                raise ValueError("it contains a NUL character")
        except (OSError, ValueError) as error:
            if path not in self._unshared:
                self._unshared.add(path)
                self._log.warning("%s is not shared with other homes: %s", path, error)
            return None
        self._unshared.discard(path)
        return _FileVersion(0, _digest(body), body)

    def _replace(self, path: str, was: str, body: str | None) -> bool:
        """Replace the file with the table's text, unless it has changed since it was read."""
        ours = self._read(path)
        if ours is None or ours.sha != was:
            return False
        file = self._home / path
        root = self._home / path.partition("/")[0]
        if not file.parent.resolve().is_relative_to(root.resolve()):  # a link leads elsewhere
            return True
        if body is None:
            file.unlink(missing_ok=True)
            with suppress(OSError):  # not empty
                file.parent.rmdir()
            return True
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _write(file, body, lambda: getattr(self._read(path), "sha", None) == was)

    def _keep_conflict(self, path: str, text: _FileVersion) -> None:
        """Save a text that is replaced in a conflict."""
        folder = self._folder / "conflicts"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"{quote(path, safe='')}.{text.sha[:12]}"
        _write(file, text.body or "")
        self._log.warning(
            "%s differed in two homes; the text that was replaced is in %s", path, file
        )

    def _read_state(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._state_file.read_text("utf-8"))
            if found["store"] == str(self._store.location()):
                self._synced = {path: SyncedVersion(*pair) for path, pair in found["files"].items()}
                self._since = float(found["since"])

    def _write_state(self) -> None:
        files = {path: [one.version, one.sha] for path, one in sorted(self._synced.items())}
        found = {"store": str(self._store.location()), "since": self._since, "files": files}
        self._state_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._state_file, json.dumps(found))


@dataclass(frozen=True, slots=True)
class _FileVersion:
    version: int = 0
    sha: str = MISSING
    body: str | None = None
    earlier: tuple[tuple[int, str], ...] = ()

    def known(self, sha: str) -> int:
        """The number of the newest earlier version with this hash; 0 if there is none."""
        return next((version for version, one in self.earlier if one == sha), 0)


def _is_shared(path: str, roots: Sequence[str]) -> bool:
    """Whether a path is shared. Paths from the table are not trusted."""
    root, _, rest = path.partition("/")
    parts = rest.split("/")
    if root not in roots or any(not part or part.startswith(".") for part in parts):
        return False
    return "\\" not in path and (root == SKILLS or parts[-1] in NOTES)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8")).hexdigest()


def _write(file: Path, body: str, may: Callable[[], bool] = lambda: True) -> bool:
    """Replace ``file`` atomically, if ``may`` returns True at the last moment.

    The mode stays; a new file is readable by its owner only.
    """
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=".", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(body)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        if not may():
            Path(name).unlink()
            return False
        Path(name).replace(file)
        return True
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


async def shared_files(host: Host, store: Store) -> FileMirror:
    """The mirror of a home whose store is shared by machines. Raises ``StoreError``."""
    await host.storage.kv.get("")  # creates the tables that plugins' storages share
    found = host.services[Inspection].plugin_details("skills").get("settings")
    # In a team each home has its own skills, and only approved ones are shared.
    is_team = isinstance(found, Mapping) and bool(found.get("team"))
    roots = [root for root in ROOTS if root != SKILLS or not is_team]
    return FileMirror(store, host.home, host.storage.dir, _queries(), host.log, roots)


def _queries() -> Mapping[str, str]:
    import aiosql

    found = aiosql.from_path(
        Path(__file__).with_name("files.sql"), "sqlite3", mandatory_parameters=False
    )
    return {name: getattr(found, name).sql for name in found.available_queries}
