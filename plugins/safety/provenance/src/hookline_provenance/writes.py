"""Files that came from outside: attachments, downloads, and what a tainted session has written.

A call's writing is not watched. What is kept is when it ran, because a file whose status changed
meanwhile (``st_ctime``, which no program can set) was written by it, wherever to; and the path and
content of each file of its folders that changed, so that a copy, or a file that was only touched or
restored by other means, keeps the mark.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import (
    HooklineError,
    Host,
    Origin,
    Session,
    Transaction,
    merge_origins,
    origins_from_json,
    origins_to_json,
)
from hookline_hookspecs.file_origins import BackgroundCommands

from .marks import INERT, FileCheck, Marks

MARK_SECONDS = 90 * 86_400.0
"""Seconds after which a call's time, and a file that it wrote, are forgotten."""
CLOCK_SLACK = 0.02
"""Seconds that a file system's clock may be behind: it stamps at the kernel's tick, every 1 to 10
ms."""


@dataclass(slots=True)
class _OpenWrite:
    """A session with commands that still run: when the first began, and where they may write."""

    session: Session
    began: float
    folders: dict[Path, None]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A file that is marked by its path: where its text came from, and since when (Unix time)."""

    path: str
    origins: tuple[Origin, ...]
    noted: float


class Writes:
    """The times at which sessions that had read from outside were at work, and what they wrote."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._check = FileCheck()
        self._media = os.path.realpath(host.home / "media") + os.sep
        self._marks = Marks(self._media)
        self._version: tuple[object, ...] = ()
        self._open: dict[str, _OpenWrite] = {}

    async def note(
        self, session: Session, began: float, origins: Sequence[Origin], folders: Sequence[Path]
    ) -> None:
        """A call of the session, which ``began`` at that Unix time, has ended.

        ``folders`` are files, and folders with files, that it may have written.
        """
        row = {"session_id": session.id, "started": began - CLOCK_SLACK, "ended": time.time()}
        text = _as_text(origins)
        storage = self._host.storage
        if not await storage.execute("extend_write", **row, origins=text):
            await storage.execute("add_write", **row, origins=text)
        if folders:
            await self._mark_changed(folders, began - CLOCK_SLACK, text)
            if await self._has_running(session):
                fresh = _OpenWrite(session, began - CLOCK_SLACK, {}, ())
                left = self._open.setdefault(session.id, fresh)
                left.folders.update(dict.fromkeys(folders))
                left.origins = merge_origins(left.origins, tuple(origins))

    async def _has_running(self, session: Session) -> bool:
        for one in self._host.services.all(BackgroundCommands):
            if await one.has_running(session):
                return True
        return False

    async def _mark_changed(self, folders: Iterable[Path], began: float, origins: str) -> None:
        changed = await asyncio.to_thread(self._check.changed_since, list(folders), began)
        known = self._marks
        new = [o for o in changed if o.path not in known.paths or o.digest not in known.contents]
        noted = time.time()

        def store(tables: Transaction) -> None:
            for one in new:
                tables.execute(
                    "mark_file",
                    path=_printable(one.path),
                    digest=one.digest,
                    size=one.size,
                    origins=origins,
                    noted=noted,
                )

        if new:
            await self._host.storage.transact(store)

    async def look_again(self) -> None:
        """Mark what commands have written that were left running."""
        for key, left in list(self._open.items()):
            if not await self._has_running(left.session):
                self._open.pop(key, None)
            await self._mark_changed(left.folders, left.began, _as_text(left.origins))

    async def of(self, paths: Iterable[Path], *, programs: bool = False) -> tuple[Origin, ...]:
        """Where files came from, as far as from outside; a folder stands for what is in it. A file
        that was deleted keeps its mark: it may be read in the history of a repository.

        With ``programs``, for what is in it but prose, tables and pictures, which nothing runs.
        """
        given = list(paths)
        if not given:
            return ()
        marks = await self.marks()
        left_out = INERT if programs else frozenset[str]()
        if len(given) == 1 and not os.path.isdir(given[0]):  # noqa: ASYNC240, PTH112
            return self._check.origins(given, marks, left_out)  # less than what a thread costs
        return await asyncio.to_thread(self._check.origins, given, marks, left_out)

    async def readable(
        self, folders: Sequence[Path], may_read: Callable[[str], bool], *, deleted: bool
    ) -> tuple[Origin, ...]:
        """The origins of all that a command in folders can read, as far as from outside.

        That is what is in the folders, and the marked files elsewhere that ``may_read`` allows;
        with ``deleted`` also the marked files that a repository there may hold in its history.
        """
        marks = await self.marks()

        def look() -> tuple[Origin, ...]:
            found = [self._check.origins(folders, marks)]
            inside = tuple(f"{os.path.realpath(one)}{os.sep}" for one in folders)
            for path, origins in marks.paths.items():
                elsewhere = not path.startswith(inside)
                if elsewhere and os.path.lexists(path) and may_read(path):
                    found.append(origins)
            if deleted and marks.paths:
                repositories = [one for one in folders if (one / ".git").exists()]
                found += [marks.below(os.path.realpath(one)) for one in repositories]
            return merge_origins(*found)

        return await asyncio.to_thread(look)

    async def names_in(self, text: str, *, fresh: bool) -> tuple[Origin, ...]:
        """The origins of the names in a text that sessions from outside gave to files.

        Without ``fresh``, for a call that lists no files, what was known last is enough.
        """
        marks = await self.marks() if fresh or not self._version else self._marks
        return marks.names_in(text)

    async def marks(self) -> Marks:
        """What is known now; other processes write to the same store."""
        if self._open:
            await self.look_again()
        storage = self._host.storage
        row = (await storage.fetch("marks_version"))[0]
        version = (row["writes"], row["written"], row["files"], row["noted"], row["cleared"])
        if version != self._version:
            self._marks, self._version = await self._loaded(), version
        return self._marks

    async def _loaded(self) -> Marks:
        storage = self._host.storage
        windows = [
            (float(row["started"]), float(row["ended"]), _origins(row["origins"]))
            for row in await storage.fetch("writes")
        ]
        rows = await storage.fetch("cleared_files")
        cleared = frozenset((row["path"], row["state"]) for row in rows)
        paths: dict[str, tuple[Origin, ...]] = {}
        contents: dict[str, tuple[Origin, ...]] = {}
        sizes: set[int] = set()
        for row in await storage.fetch("marked_files"):
            if (row["path"], row["digest"]) in cleared:
                continue  # touched since, but still the same
            origins = _origins(row["origins"])
            paths[row["path"]] = merge_origins(paths.get(row["path"], ()), origins)
            if digest := row["digest"]:
                contents[digest] = merge_origins(contents.get(digest, ()), origins)
                sizes.add(row["size"])
        return Marks(self._media, windows, paths, contents, frozenset(sizes), cleared)

    async def listed(self) -> list[Mark]:
        """The files that are marked by their path, by path."""
        found: dict[str, Mark] = {}
        for row in await self._host.storage.fetch("noted_files"):
            path, origins = row["path"], _origins(row["origins"])
            known = found.get(path, Mark(path, (), 0.0))
            noted = max(known.noted, float(row["noted"]))
            found[path] = Mark(path, merge_origins(known.origins, origins), noted)
        return list(found.values())

    async def clear(self, path: Path, by: str) -> tuple[Origin, ...]:
        """Lift the mark of a file for as long as it stays as it is; return what it was.

        Raises:
            HooklineError: it is a folder or cannot be read, or is not marked.
        """
        real = os.path.realpath(path)  # noqa: ASYNC240
        if os.path.isdir(real):  # noqa: ASYNC240, PTH112
            raise HooklineError(f"{path} is a folder; name one file")
        marked = {one.path: one.origins for one in await self.listed()}
        origins = merge_origins(await self.of([Path(real)]), marked.get(real, ()))
        if not origins:
            raise HooklineError(
                f"{path} is not marked; `hookline provenance marks` lists the marks"
            )
        row = {"path": real, "by_whom": by, "cleared": time.time()}
        if os.path.lexists(real):  # noqa: ASYNC240
            try:
                row["state"] = await asyncio.to_thread(self._check.state, real)
            except OSError as error:
                raise HooklineError(f"cannot read {path}: {error.strerror}") from error

        def store(tables: Transaction) -> None:
            tables.execute("unmark_file", path=real)
            if "state" in row:
                tables.execute("clear_file", **row)

        await self._host.storage.transact(store)
        return origins

    async def forget(self) -> None:
        """Delete what is long ago."""
        before = time.time() - MARK_SECONDS
        await self._host.storage.execute("drop_writes", before=before)
        await self._host.storage.execute("drop_files", before=before)
        await self._host.storage.execute("drop_cleared", before=before)


def _printable(path: str) -> str:
    """A path for the store, which takes only Unicode; such a file is known by its content."""
    return path.encode("utf-8", "backslashreplace").decode()


def _as_text(origins: Sequence[Origin]) -> str:
    return json.dumps(origins_to_json(origins), ensure_ascii=False)


def _origins(text: str) -> tuple[Origin, ...]:
    return origins_from_json(json.loads(text))
