"""A git repository as the team's store: a branch to which commits are only ever added.

::

    skills/NAME/NUMBER/proposed.json    and approved.json, rejected.json, revoked.json
    skills/NAME/NUMBER/files/PATH       the files of the version

What is fetched is kept in a bare repository of this home. It is a copy: one that a killed process
left in disorder is made anew.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from .entries import KINDS, Entry, UnreadableEntry
from .git import GitFailed, git
from .store import MOST_BYTES, MOST_FILES, Files, Moved, Unreachable

T = TypeVar("T")
COPY = "refs/heads/team"
LOCK_SECONDS = 90.0
MOST_ENTRIES = 100_000
_ENTRY = re.compile(rf"skills/([^/]+)/([1-9]\d{{0,8}})/({'|'.join(KINDS)})\.json")
_BEHIND = ("rejected", "stale info", "cannot lock ref", "failed to update ref")


class GitStore:
    """The store at ``url`` (``file://``, ``ssh://`` or ``https://``).

    Args:
        url: the repository; it may be empty.
        directory: a folder of this home for the copy.
        branch: the branch that holds the skills.
    """

    def __init__(self, url: str, directory: Path, branch: str = "main") -> None:
        self._url = url
        self._copy = directory / "copy.git"
        self._branch = f"refs/heads/{branch}"
        self._lock = directory / "copy.lock"

    async def tip(self) -> str:
        """See :class:`TeamStore`."""
        return await asyncio.to_thread(self._tip)

    async def load(self) -> tuple[str, list[Entry], list[str]]:
        """See :class:`TeamStore`. Without the other side, what was fetched last is returned by
        :meth:`last`."""
        return await self._locked(lambda: self._read(self._fetch()))

    async def last(self) -> tuple[str, list[Entry], list[str]]:
        """Return what :meth:`load` returned last, as the copy holds it."""
        return await self._locked(lambda: self._read(self._own_tip()))

    async def files(self, name: str, number: int) -> dict[str, bytes]:
        """See :class:`TeamStore`."""
        return await self._locked(lambda: self._files(name, number))

    async def append(
        self, tip: str, entries: Sequence[Entry], files: Mapping[int, Files] | None = None
    ) -> None:
        """See :class:`TeamStore`."""
        await self._locked(lambda: self._append(tip, entries, files or {}))

    # In a thread

    async def _locked(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(self._within, work)

    def _within(self, work: Callable[[], T]) -> T:
        from filelock import FileLock, Timeout

        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with FileLock(self._lock, timeout=LOCK_SECONDS, mode=0o600):
                self._ready()
                return work()
        except Timeout:
            raise Unreachable("another process is busy with the team's skills") from None

    def _ready(self) -> None:
        if not (self._copy / "HEAD").is_file():
            shutil.rmtree(self._copy, ignore_errors=True)
            git(self._copy, "init", "--bare", "--quiet", "--template=")

    def _tip(self) -> str:
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        said = git(self._lock.parent / "ask.git", "ls-remote", self._url, self._branch).decode()
        return said.split()[0] if said.split() else ""

    def _own_tip(self) -> str:
        with suppress(GitFailed):
            return git(self._copy, "rev-parse", "--verify", "--quiet", COPY).decode().strip()
        return ""

    def _fetch(self) -> str:
        """Bring the copy up to date; its tip. What was there stays there."""
        there, here = self._tip(), self._own_tip()
        if there == here:
            return here
        if not there:
            raise Unreachable(f"the branch {self._branch} is gone from {self._url}")
        try:
            self._bring()
        except GitFailed:
            self._anew(here)
        return self._own_tip()

    def _bring(self) -> None:
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        git(self._copy, "fetch", *quiet, self._url, f"{self._branch}:{COPY}")

    def _anew(self, here: str) -> None:
        """Make the copy anew; a lock that a killed process left is gone with it."""
        aside = self._copy.with_name(f"{self._copy.name}.{uuid4().hex}")
        self._copy.rename(aside)
        try:
            self._ready()
            self._bring()
            self._refuse_rewritten(here)
        except Unreachable:
            shutil.rmtree(self._copy, ignore_errors=True)
            aside.rename(self._copy)
            raise
        shutil.rmtree(aside, ignore_errors=True)

    def _refuse_rewritten(self, here: str) -> None:
        if not here:
            return
        try:
            git(self._copy, "merge-base", "--is-ancestor", here, COPY)
        except GitFailed as error:
            raise Unreachable(
                f"the history of {self._url} was rewritten; nothing of it is taken. If that is "
                f"right, remove {self._copy}"
            ) from error

    def _read(self, tip: str) -> tuple[str, list[Entry], list[str]]:
        if not tip:
            return "", [], []
        listed = git(self._copy, "ls-tree", "-r", "-z", tip, "--", "skills/")
        found: list[tuple[str, re.Match[str]]] = []
        for line in listed.decode("utf-8", "replace").split("\0"):
            about, _, path = line.partition("\t")
            match = _ENTRY.fullmatch(path)
            if match is not None and about.startswith("100644 blob "):
                found.append((about.split()[2], match))
        if len(found) > MOST_ENTRIES:
            raise Unreachable(f"{self._url} holds more than {MOST_ENTRIES:,} entries")
        entries, odd = [], []
        for data, (_, match) in zip(self._blobs([sha for sha, _ in found]), found, strict=True):
            name, number, kind = match[1], int(match[2]), match[3]
            try:
                entries.append(Entry.from_json(data, name, number, kind))
            except UnreadableEntry as error:
                odd.append(f"{name} version {number}: {kind}.json is not taken: {error}")
        return tip, entries, odd

    def _blobs(self, shas: Sequence[str]) -> list[bytes]:
        out = git(self._copy, "cat-file", "--batch", data="".join(f"{s}\n" for s in shas).encode())
        blobs, at = [], 0
        for _ in shas:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[2])
            blobs.append(out[end + 1 : end + 1 + size])
            at = end + 2 + size
        return blobs

    def _files(self, name: str, number: int) -> dict[str, bytes]:
        tip, folder = self._own_tip(), f"skills/{name}/{number}/files/"
        if not tip:
            return {}
        listed = git(self._copy, "ls-tree", "-r", "-z", "--long", tip, "--", folder)
        shas: list[str] = []
        paths: list[str] = []
        for line in listed.decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = line.partition("\t")
            fields = about.split()
            if len(fields) != 4 or fields[0] != "100644" or not path.startswith(folder):
                continue
            if int(fields[3]) > MOST_BYTES or len(paths) >= MOST_FILES:
                raise Unreachable(f"version {number} of {name} is larger than a skill may be")
            shas.append(fields[2])
            paths.append(path.removeprefix(folder))
        return dict(zip(paths, self._blobs(shas), strict=True))

    def _append(self, tip: str, entries: Sequence[Entry], files: Mapping[int, Files]) -> None:
        if self._fetch() != tip:
            raise Moved("the team's skills have changed meanwhile")
        name = entries[0].name
        contents = {f"skills/{name}/{e.number}/{e.kind}.json": e.to_json() for e in entries}
        for number, of_version in files.items():
            for path, data in of_version.items():
                contents[f"skills/{name}/{number}/files/{path}"] = data
        said = ", ".join(f"{e.name} {e.number} {e.kind} by {e.by}" for e in entries)
        commit = self._commit(tip, contents, said)
        try:
            git(self._copy, "push", "--quiet", self._url, f"{commit}:{self._branch}")
        except GitFailed as error:
            now = self._tip()  # the answer may have been lost on its way
            if now != commit:
                if now != tip or any(word in error.said for word in _BEHIND):
                    raise Moved("the team's skills have changed meanwhile") from error
                raise
        with suppress(GitFailed):
            git(self._copy, "update-ref", COPY, commit)

    def _commit(self, tip: str, contents: Files, message: str) -> str:
        index = self._copy / f"index.{uuid4().hex}"
        try:
            if tip:
                git(self._copy, "read-tree", tip, index=index)
            lines = []
            for path, data in contents.items():
                sha = git(self._copy, "hash-object", "-w", "--stdin", data=data).decode().strip()
                lines.append(f"100644 {sha}\t{path}\0")
            stdin = "".join(lines).encode()
            git(self._copy, "update-index", "-z", "--add", "--index-info", data=stdin, index=index)
            tree = git(self._copy, "write-tree", index=index).decode().strip()
        finally:
            index.unlink(missing_ok=True)
        parents = ("-p", tip) if tip else ()
        made = git(self._copy, "commit-tree", tree, *parents, data=message.encode())
        return made.decode().strip()
