"""The versions of each skill: its files after every change, stored in the database."""

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

from . import safe_files
from .records import ChangeSource

RESET_ACTIONS = ("create", "install")
"""Actions that replace everything, so that earlier origins no longer apply."""
MAX_FILE_BYTES = 5_000_000
"""A larger file is not stored."""
MAX_FILES = 500
"""Files stored of one skill."""


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """The state of a skill after a change.

    ``files`` is path to SHA-256 (hexadecimal), empty after a deletion. ``origins`` are merged over
    all changes since it was created. ``at`` is Unix time in seconds.
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
    """The files of a skill's folder, without links; empty if there is no folder."""
    found = {}
    for path, status in safe_files.list_files(folder, MAX_FILES):
        if status.st_size <= MAX_FILE_BYTES:
            found[path] = safe_files.read_bytes(folder, path, MAX_FILE_BYTES)
    return found


class SkillHistory:
    """The plugin's tables of versions.

    Args:
        storage: returns the plugin's storage; called on each use.
        now: returns Unix time in seconds.
        max_versions: versions kept of each skill.
    """

    def __init__(
        self, storage: Callable[[], Storage], now: Callable[[], float], max_versions: int
    ) -> None:
        self._open = storage
        self._now = now
        self._max_versions = max_versions

    async def versions(self, name: str) -> list[SkillVersion]:
        """The stored versions of a skill, oldest first."""
        rows = await self._open().fetch("versions", name=name)
        return [
            SkillVersion(
                **{**row, "files": json.loads(row["files"]), "origins": read(row["origins"])}
            )
            for row in rows
        ]

    async def origins(self) -> dict[str, tuple[Origin, ...]]:
        """The origins of each skill by name."""
        rows = await self._open().fetch("newest_versions")
        return {row["name"]: read(row["origins"]) for row in rows}

    async def last_changes(self) -> dict[str, float]:
        """When each skill was last changed (Unix time in seconds), deleted ones included."""
        return {row["name"]: row["at"] for row in await self._open().fetch("newest_versions")}

    async def record(
        self,
        name: str,
        before: Mapping[str, bytes],
        after: Mapping[str, bytes],
        action: str,
        source: ChangeSource,
    ) -> int:
        """Record a change and return the number of its version.

        If ``before`` differs from the last version, as after an edit by hand, it becomes a version
        of its own first.
        """
        at = self._now()
        old, new = digests(before), digests(after)
        contents = {old[path]: data for path, data in before.items()}
        contents |= {new[path]: data for path, data in after.items()}

        def work(store: Transaction) -> int:
            known = store.fetch("versions", name=name)
            number = known[-1]["number"] if known else 0
            for sha, data in contents.items():
                if not store.fetch("has_blob", sha=sha):
                    store.execute("add_blob", sha=sha, body=_compress(data))
            if old and (not known or json.loads(known[-1]["files"]) != old):
                number += 1
                _insert_version(store, name, number, "found", ChangeSource("person"), at, old)
            number += 1
            earlier = read(known[-1]["origins"]) if known and action not in RESET_ACTIONS else ()
            merged = replace(source, origins=kept(merge_origins(earlier, source.origins)))
            _insert_version(store, name, number, action, merged, at, new)
            store.execute("forget_versions", name=name, first=number - self._max_versions + 1)
            return number

        return await self._open().transact(work)

    async def files(self, version: SkillVersion) -> dict[str, bytes]:
        """The files of a version.

        Raises:
            KeyError: a file's content is no longer stored.
        """
        found = {}
        for path, sha in version.files.items():
            rows = await self._open().fetch("blob", sha=sha)
            if not rows:
                raise KeyError(path)
            found[path] = zlib.decompress(base64.b64decode(rows[0]["body"]))
        return found

    async def prune(self) -> None:
        """Delete contents that no version uses."""

        def work(store: Transaction) -> None:
            used = {
                sha
                for row in store.fetch("kept_files")
                for sha in json.loads(row["files"]).values()
            }
            for row in store.fetch("blobs"):
                if row["sha"] not in used:
                    store.execute("forget_blob", sha=row["sha"])

        await self._open().transact(work)


def _insert_version(
    store: Transaction,
    name: str,
    number: int,
    action: str,
    source: ChangeSource,
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


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 in hexadecimal by path."""
    return {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}


def _compress(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode("ascii")
