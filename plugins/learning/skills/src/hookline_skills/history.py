"""The versions of each skill: its files after every change, kept apart from its folder."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hookline_hookspecs import Origin, Storage, Transaction, merge_origins
from hookline_hookspecs.stored_origins import kept, read, stored

from . import safely
from .records import Source

AFRESH = ("create", "install")
"""Actions after which nothing is left of what was there before."""
FILE_BYTES, FILES = 5_000_000, 500
"""Size of a file that is kept, and how many of one skill."""


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a skill. ``files`` is path to SHA-256 (hexadecimal), empty after a deletion.

    ``origins`` are those of all that it was made from since it was created.
    """

    name: str
    number: int
    action: str
    author: str
    session_id: str
    turn_id: str
    at: float
    files: Mapping[str, str]
    origins: tuple[Origin, ...] = ()


def snapshot(folder: Path) -> dict[str, bytes]:
    """The files of a skill's folder; none if it is not there. Links are passed over."""
    found = {}
    for path, status in safely.walk(folder, FILES):
        if status.st_size <= FILE_BYTES:
            found[path] = safely.read_bytes(folder, path, FILE_BYTES)
    return found


class History:
    """The plugin's tables of versions.

    Args:
        storage: gives the plugin's own, when it is first used.
        now: the clock, Unix time in seconds.
        most: versions that are kept of each skill.
    """

    def __init__(self, storage: Callable[[], Storage], now: Callable[[], float], most: int) -> None:
        self._open = storage
        self._now = now
        self._most = most

    async def versions(self, name: str) -> list[Version]:
        """The kept versions of a skill, oldest first."""
        rows = await self._open().fetch("versions", name=name)
        return [
            Version(**{**row, "files": json.loads(row["files"]), "origins": read(row["origins"])})
            for row in rows
        ]

    async def origins(self) -> dict[str, tuple[Origin, ...]]:
        """What each skill was made from, by name."""
        rows = await self._open().fetch("newest_versions")
        return {row["name"]: read(row["origins"]) for row in rows}

    async def changed(self) -> dict[str, float]:
        """When each skill that has a version was last changed, deleted ones included."""
        return {row["name"]: row["at"] for row in await self._open().fetch("newest_versions")}

    async def add(
        self,
        name: str,
        before: Mapping[str, bytes],
        after: Mapping[str, bytes],
        action: str,
        source: Source,
    ) -> int:
        """Record a change, and what was there before it if no version holds that; its number."""
        at, most = self._now(), self._most
        found = _digests(before)
        new = _digests(after)
        bodies = {
            sha: data
            for digests, files in ((found, before), (new, after))
            for sha, data in ((digests[path], files[path]) for path in files)
        }

        def work(store: Transaction) -> int:
            known = store.fetch("versions", name=name)
            number = known[-1]["number"] if known else 0
            for sha, data in bodies.items():
                if not store.fetch("has_blob", sha=sha):
                    store.execute("add_blob", sha=sha, body=_packed(data))
            if found and (not known or json.loads(known[-1]["files"]) != found):
                number += 1
                _put(store, name, number, "found", Source("person"), at, found)
            number += 1
            before_ = read(known[-1]["origins"]) if known and action not in AFRESH else ()
            made_from = replace(source, origins=kept(merge_origins(before_, source.origins)))
            _put(store, name, number, action, made_from, at, new)
            store.execute("forget_versions", name=name, first=number - most + 1)
            return number

        return await self._open().transact(work)

    async def files(self, version: Version) -> dict[str, bytes]:
        """The files of a version.

        Raises:
            KeyError: a file's content is not kept any more.
        """
        found = {}
        for path, sha in version.files.items():
            rows = await self._open().fetch("blob", sha=sha)
            if not rows:
                raise KeyError(path)
            found[path] = zlib.decompress(base64.b64decode(rows[0]["body"]))
        return found

    async def prune(self) -> None:
        """Forget contents that no version has."""

        def work(store: Transaction) -> None:
            kept = {
                sha
                for row in store.fetch("kept_files")
                for sha in json.loads(row["files"]).values()
            }
            for row in store.fetch("blobs"):
                if row["sha"] not in kept:
                    store.execute("forget_blob", sha=row["sha"])

        await self._open().transact(work)


def _put(
    store: Transaction,
    name: str,
    number: int,
    action: str,
    source: Source,
    at: float,
    files: Mapping[str, str],
) -> None:
    store.execute(
        "add_version",
        name=name,
        number=number,
        action=action,
        author=source.author,
        session_id=source.session_id,
        turn_id=source.turn_id,
        at=at,
        files=json.dumps(dict(files), sort_keys=True, ensure_ascii=False),
        origins=stored(source.origins),
    )


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode("ascii")
