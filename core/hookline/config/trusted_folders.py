"""``trusted_folders.json`` in the home: the folders that the person trusts, and with what content.

No plugin is needed to read it, because a project's settings are read before plugins are loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock
from hookline_hookspecs.errors import HooklineError
from hookline_hookspecs.folder_trust import FolderContent, TrustedFolder, TrustState

from .. import clock

FILE = "trusted_folders.json"
VERSION = 1
LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process that is writing."""


@dataclass(frozen=True, slots=True)
class _Entry:
    since: float
    content: dict[str, FolderContent] = field(default_factory=dict)
    """What it was trusted with, by kind."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """The trusted folders, and those with a content that the person has declined, by path."""

    trusted: dict[str, _Entry] = field(default_factory=dict)
    declined: dict[str, dict[str, str]] = field(default_factory=dict)


class TrustedFolders:
    """Implements ``FolderTrust``. If the file is damaged, no folder is trusted."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def state(self, folder: Path, content: FolderContent) -> TrustState:
        """Whether ``content`` of this folder may be used."""
        entry = self._read().trusted.get(_key(folder))
        if entry is None or content.kind not in entry.content:
            return "untrusted"
        return "trusted" if entry.content[content.kind].digest == content.digest else "changed"

    def trusted_content(self, folder: Path, kind: str) -> FolderContent | None:
        """What this folder is trusted with."""
        entry = self._read().trusted.get(_key(folder))
        return entry.content.get(kind) if entry is not None else None

    def folders(self) -> Sequence[TrustedFolder]:
        """Every trusted folder, sorted by path."""
        found = sorted(self._read().trusted.items())
        return [TrustedFolder(Path(name), one.since) for name, one in found]

    def trust(self, folder: Path, contents: Sequence[FolderContent]) -> None:
        """Trust a folder with these contents only. Raises ``HooklineError``."""
        with self._changing() as stored:
            stored.declined.pop(_key(folder), None)
            stored.trusted[_key(folder)] = _Entry(clock.now(), _by_kind(contents))

    def revoke(self, folder: Path) -> bool:
        """Trust a folder no longer. Raises ``HooklineError``."""
        known = _key(folder) in self._read().trusted
        if known:
            with self._changing() as stored:
                stored.trusted.pop(_key(folder), None)
        return known

    def decline(self, folder: Path, contents: Sequence[FolderContent]) -> None:
        """Remember what the person does not trust for now. Raises ``HooklineError``."""
        with self._changing() as stored:
            stored.declined[_key(folder)] = _digests(contents)

    def is_declined(self, folder: Path, contents: Sequence[FolderContent]) -> bool:
        """Whether the person has declined exactly these contents."""
        return self._read().declined.get(_key(folder)) == _digests(contents)

    @contextmanager
    def _changing(self) -> Iterator[_Stored]:
        """What is stored, for a change that is written at the end."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._path.with_name(f".{FILE}.lock"), timeout=LOCK_TIMEOUT):
                stored = self._read()
                yield stored
                self._write(stored)
        except (OSError, TimeoutError) as error:
            raise HooklineError(f"cannot write {self._path}: {error}") from None

    def _write(self, stored: _Stored) -> None:
        entries = stored.trusted.items()
        folders = {name: asdict(one) for name, one in entries}
        data = {"version": VERSION, "folders": folders, "declined": stored.declined}
        text = json.dumps(data, ensure_ascii=False, indent=1)
        partial = self._path.with_name(f".{FILE}.{os.getpid()}.new")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        partial.replace(self._path)

    def _read(self) -> _Stored:
        try:
            data = json.loads(self._path.read_text("utf-8", "surrogateescape"))
            if data["version"] != VERSION:
                return _Stored()
            trusted = {name: _parse(one) for name, one in data["folders"].items()}
            declined = {name: _texts(one) for name, one in data.get("declined", {}).items()}
            return _Stored(trusted, declined)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return _Stored()


def _parse(data: Any) -> _Entry:
    rows = data["content"].values()
    found = [FolderContent(**{**row, "lines": tuple(row["lines"])}) for row in rows]
    return _Entry(float(data["since"]), _by_kind(found))


def _by_kind(contents: Sequence[FolderContent]) -> dict[str, FolderContent]:
    return {content.kind: content for content in contents}


def _texts(data: Any) -> dict[str, str]:
    return {str(kind): str(digest) for kind, digest in data.items()}


def _digests(contents: Sequence[FolderContent]) -> dict[str, str]:
    return {content.kind: content.digest for content in contents}


def _key(folder: Path) -> str:
    return os.path.realpath(folder.expanduser())
