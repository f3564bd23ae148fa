"""Keeps the notes, portraits and skills of homes alike that share a store.

What stands in the table ``files`` counts; a home's files are copies of it. A file that differs
from what was last agreed on (`Agreed`) was changed here, by Hookline or by hand, and is written
into the table if nobody changed it there meanwhile (compare-and-set on its version). Where both
have changed, this home's text wins, and the other is kept in ``plugins/shared-files/conflicts/``.
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
LARGEST = 1_000_000
"""Bytes of the largest text that is shared."""
SKILLS = "skills"
ROOTS = ("memories", "chats", SKILLS)
NOTES = ("MEMORY.md", "USER.md")
"""What is shared below ``memories`` and ``chats``; of ``skills`` everything but hidden files."""
OVERLAP = 60.0
"""Seconds for which changes are looked at again: they may be committed in another order."""
EARLIER = 20
"""How many versions a file's row knows by their hashes."""
GONE = ""
"""The hash of a file that is not there."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """The version of a file that home and table had in common, and its hash."""

    version: int
    sha: str


class Mirror:
    """The shared files of one home. See :meth:`sync`."""

    def __init__(
        self,
        store: Store,
        home: Path,
        folder: Path,
        sql: Mapping[str, str],
        log: logging.Logger,
        roots: Sequence[str] = ROOTS,
    ) -> None:
        """``folder`` is the plugin's own; ``store`` has the table ``files``; ``roots`` are those
        of `ROOTS` that are shared."""
        self._roots = roots
        self._store, self._home, self._folder, self._sql, self._log = store, home, folder, sql, log
        self._note = folder / "shared-files.json"
        self._busy = asyncio.Lock()
        self._stats: dict[str, tuple[tuple[int, int, int], str]] = {}
        self._left_alone: set[str] = set()
        self._as_of: int | None = None
        self._agreed: dict[str, Agreed] = {}
        self._since = 0.0
        self._read_note()

    async def sync(self, *, look: bool = True) -> None:
        """Make home and table alike; without ``look`` what was changed in the table alone. Raises
        ``StoreError``."""
        async with self._busy:
            paths = await self._changed()
            if look:
                here = await asyncio.to_thread(self._scan)
                paths |= {
                    path
                    for path in here.keys() | self._agreed.keys()
                    if here.get(path, GONE) != self._sha(path)
                }
            told = False
            for path in sorted(paths):
                told |= await self._settle(path)
            if paths:
                await asyncio.to_thread(self._write_note)
        if told:
            await self._store.notify(TOPIC, "")

    def _sha(self, path: str) -> str:
        agreed = self._agreed.get(path)
        return GONE if agreed is None else agreed.sha

    async def _changed(self) -> set[str]:
        """Paths with another version in the table than was agreed on."""
        now = self._store.changes_of("files") if self._store.is_shared else None
        if now is not None and now == self._as_of:
            return set()
        since = self._since - OVERLAP
        rows = await self._store.read(
            lambda db: db.fetch(self._sql["files_since"], {"since": since})
        )
        found = set()
        for row in rows:
            agreed = self._agreed.get(row["path"])
            if _is_shared(row["path"], self._roots) and (
                agreed is None or agreed.version != row["version"]
            ):
                found.add(row["path"])
            self._since = max(self._since, row["changed"])
        self._as_of = now
        return found

    async def _settle(self, path: str) -> bool:
        """Make one file alike; True if the table was changed."""
        for _ in range(3):
            theirs = await self._row(path)
            ours = await asyncio.to_thread(self._read, path)
            if ours is None:  # it cannot be shared
                return False
            agreed = self._agreed.get(path, Agreed(0, GONE))
            if theirs.version < agreed.version:  # a table that was made anew
                agreed = Agreed(0, GONE)
            if theirs.known(ours.sha) > agreed.version:
                # Another process of this home has brought it, and something newer has come since.
                agreed = Agreed(theirs.known(ours.sha), ours.sha)
            if not agreed.version and theirs.body is not None and ours.body is not None:
                # A home that comes to the others: what they have counts.
                if ours.sha != theirs.sha:
                    await asyncio.to_thread(self._keep, path, ours)
                agreed = Agreed(0, ours.sha)
            if ours.sha in (theirs.sha, agreed.sha):
                if ours.sha != theirs.sha and not await asyncio.to_thread(
                    self._replace, path, ours.sha, theirs.body
                ):
                    continue  # it was changed just now
                self._agreed[path] = Agreed(theirs.version, theirs.sha)
                return False
            if theirs.version != agreed.version and theirs.body is not None:
                await asyncio.to_thread(self._keep, path, theirs)
            if await self._put(path, ours, theirs):
                self._agreed[path] = Agreed(theirs.version + 1, ours.sha)
                return True
        return False  # others were faster each time; the next look settles it

    async def _row(self, path: str) -> _Text:
        rows = await self._store.read(lambda db: db.fetch(self._sql["file"], {"path": path}))
        if not rows:
            return _Text()
        row = rows[0]
        earlier = tuple((version, sha) for version, sha in json.loads(row["earlier"]))
        return _Text(row["version"], row["sha"], row["body"], earlier)

    async def _put(self, path: str, ours: _Text, theirs: _Text) -> bool:
        row: dict[str, Any] = {"path": path, "sha": ours.sha, "body": ours.body}
        earlier = [(theirs.version, theirs.sha), *theirs.earlier][:EARLIER]
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

    def _read(self, path: str) -> _Text | None:
        """What is on disk; None, and a line in the log, if it cannot be shared."""
        file = self._home / path
        try:
            if not file.is_symlink() and not file.exists():
                return _Text()
            if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST:
                raise ValueError("it is no regular file, or has more than a megabyte")
            body = file.read_bytes().decode("utf-8")
            if "\0" in body:
                raise ValueError("it holds a NUL")
        except (OSError, ValueError) as error:
            if path not in self._left_alone:
                self._left_alone.add(path)
                self._log.warning("%s is not shared with other homes: %s", path, error)
            return None
        self._left_alone.discard(path)
        return _Text(0, _digest(body), body)

    def _replace(self, path: str, was: str, body: str | None) -> bool:
        """Make the file what the table holds, unless it has been changed since it was read."""
        ours = self._read(path)
        if ours is None or ours.sha != was:
            return False
        file, root = self._home / path, self._home / path.partition("/")[0]
        if not file.parent.resolve().is_relative_to(root.resolve()):  # a link leads elsewhere
            return True
        if body is None:
            file.unlink(missing_ok=True)
            with suppress(OSError):  # what is not empty stays
                file.parent.rmdir()
            return True
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _write(file, body, lambda: getattr(self._read(path), "sha", None) == was)

    def _keep(self, path: str, text: _Text) -> None:
        """Keep a text that gives way to another one."""
        folder = self._folder / "conflicts"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"{quote(path, safe='')}.{text.sha[:12]}"
        _write(file, text.body or "")
        self._log.warning(
            "%s stood otherwise in two homes; the text that gave way is %s", path, file
        )

    def _read_note(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._note.read_text("utf-8"))
            if found["store"] == str(self._store.location()):
                self._agreed = {path: Agreed(*pair) for path, pair in found["files"].items()}
                self._since = float(found["since"])

    def _write_note(self) -> None:
        files = {path: [one.version, one.sha] for path, one in sorted(self._agreed.items())}
        found = {"store": str(self._store.location()), "since": self._since, "files": files}
        self._note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._note, json.dumps(found))


@dataclass(frozen=True, slots=True)
class _Text:
    version: int = 0
    sha: str = GONE
    body: str | None = None
    earlier: tuple[tuple[int, str], ...] = ()

    def known(self, sha: str) -> int:
        """The newest earlier version with this hash; 0 if there is none."""
        return next((version for version, one in self.earlier if one == sha), 0)


def _is_shared(path: str, roots: Sequence[str]) -> bool:
    """True for what homes share; a path out of the table could be any text."""
    root, _, rest = path.partition("/")
    parts = rest.split("/")
    if root not in roots or any(not part or part.startswith(".") for part in parts):
        return False
    return "\\" not in path and (root == SKILLS or parts[-1] in NOTES)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8")).hexdigest()


def _write(file: Path, body: str, may: Callable[[], bool] = lambda: True) -> bool:
    """Replace ``file`` whole, if it ``may`` be at the last moment; its mode stays, a new one is
    for its owner."""
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


async def shared_files(host: Host, store: Store) -> Mirror:
    """The mirror of a home whose store machines share. Raises ``StoreError``."""
    await host.storage.kv.get("")  # makes the tables that plugins' storages share
    found = host.services[Inspection].plugin_details("skills").get("settings")
    # In a team each home has skills of its own, and others get what was approved.
    is_team = isinstance(found, Mapping) and bool(found.get("team"))
    roots = [root for root in ROOTS if root != SKILLS or not is_team]
    return Mirror(store, host.home, host.storage.dir, _queries(), host.log, roots)


def _queries() -> Mapping[str, str]:
    import aiosql

    found = aiosql.from_path(
        Path(__file__).with_name("files.sql"), "sqlite3", mandatory_parameters=False
    )
    return {name: getattr(found, name).sql for name in found.available_queries}
