"""Files that came from outside: attachments, downloads, and what a tainted session has written.

A call's writing is not watched. What is kept is when it ran: a file whose status changed meanwhile
(``st_ctime``, which no program can set) was written by it, whoever wrote it and wherever to.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from hookline_hookspecs import Host, Origin, merge_origins, origins_from_json, origins_to_json

_NAMES = "md txt rst csv tsv log html pdf pyc png jpg jpeg gif svg webp"
INERT = frozenset([f".{name}" for name in _NAMES.split(" ")])
"""Endings of files that no program takes for a program because it finds them in a folder."""
MOST, MOST_PROGRAMS = 2_000, 20_000
"""Entries of a folder, at any depth, that are looked at where it is read, and before it is run."""
KEPT = 90 * 86_400.0
"""Seconds after which a call's time is forgotten."""
SLACK = 0.02
"""Seconds that a file system's clock may be behind: it stamps at the kernel's tick, every 1 to 10
ms."""
_SOURCE = "user.xdg.origin.url"
"""The attribute in which browsers, curl and wget note where a file came from (freedesktop.org,
CommonExtendedAttributes)."""


class Writes:
    """The times at which sessions that had read from outside were at work."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def note(self, session_id: str, began: float, origins: Sequence[Origin]) -> None:
        """A call of the session, which ``began`` at that Unix time, has ended."""
        row = {"session_id": session_id, "started": began - SLACK, "ended": time.time()}
        text = json.dumps(origins_to_json(origins), ensure_ascii=False)
        storage = self._host.storage
        if not await storage.execute("extend_write", **row, origins=text):
            await storage.execute("add_write", **row, origins=text)

    async def of(self, paths: Iterable[Path], *, programs: bool = False) -> tuple[Origin, ...]:
        """Where files came from, as far as from outside; a folder stands for what is in it.

        With ``programs``, for what is in it but prose, tables and pictures, which nothing runs.
        """
        media, endings = self._host.home / "media", INERT if programs else frozenset()
        given = list(paths)
        if len(given) == 1 and not os.path.isdir(given[0]):  # noqa: ASYNC240, PTH112
            changed, found = _looked_at(given, media, endings)  # less than what a thread costs
        else:
            changed, found = await asyncio.to_thread(_looked_at, given, media, endings)
        if changed:
            rows = await self._host.storage.fetch("writes_since", oldest=min(changed))
            for row in rows:
                if any(row["started"] <= at <= row["ended"] for at in changed):
                    found += origins_from_json(json.loads(row["origins"]))
        return merge_origins(found)

    async def forget(self) -> None:
        """Delete the times of long ago."""
        await self._host.storage.execute("drop_writes", before=time.time() - KEPT)


def _looked_at(
    paths: Sequence[Path], media: Path, left_out: Collection[str]
) -> tuple[list[float], list[Origin]]:
    """When the files' status changed, and what the files themselves say of where they came from."""
    changed: list[float] = []
    found: list[Origin] = []
    inside = os.path.realpath(media) + os.sep
    for path in paths:
        for file in _files(os.path.realpath(path), left_out):
            try:  # a link in /proc may be nobody's to read, and what it leads to neither
                real = os.path.realpath(file) if os.path.islink(file) else file  # noqa: PTH114
                changed.append(os.stat(real).st_ctime)  # noqa: PTH116
            except OSError:
                continue
            if real.startswith(inside):
                found.append(Origin("outside", f"attachment {os.path.basename(real)}"))  # noqa: PTH119
            elif source := _noted_source(real):
                found.append(Origin("outside", source))
    return changed, found


def _files(path: str, left_out: Collection[str]) -> Iterator[str]:
    if not os.path.isdir(path):  # noqa: PTH112
        yield path
        return
    left = MOST_PROGRAMS if left_out else MOST
    for folder, _, names in os.walk(path):
        for name in names:
            if os.path.splitext(name)[1].lower() in left_out:  # noqa: PTH122
                continue
            yield os.path.join(folder, name)  # noqa: PTH118
            left -= 1
            if not left:
                return


def _noted_source(file: str) -> str:
    if not hasattr(os, "getxattr"):
        return ""
    try:
        return os.getxattr(file, _SOURCE).decode("utf-8", "replace")[:2000]
    except OSError:
        return ""
