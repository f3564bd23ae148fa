"""A team's store in a git repository: a branch to which commits are only added.

::

    skills/NAME/NUMBER/proposed.json    and approved.json, rejected.json, revoked.json
    skills/NAME/NUMBER/files/PATH       the files of the version

A bare repository in this home holds a copy. If a killed process left it damaged, it is recreated.
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

from .entries import KINDS, InvalidEntry, TeamEntry
from .git import GitFailed, git
from .team_store import MAX_FILE_BYTES, MAX_FILES, Files, StoreChanged, StoreUnreachable

Result = TypeVar("Result")
COPY_REF = "refs/heads/team"
LOCK_SECONDS = 90.0
MAX_ENTRIES = 100_000
_ENTRY = re.compile(rf"skills/([^/]+)/([1-9]\d{{0,8}})/({'|'.join(KINDS)})\.json")
_PUSH_REJECTED = ("rejected", "stale info", "cannot lock ref", "failed to update ref")


class GitStore:
    """The store at ``url`` (``file://``, ``ssh://`` or ``https://``).

    Args:
        url: the repository, which may be empty.
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

    async def load(self) -> tuple[str, list[TeamEntry], list[str]]:
        """See :class:`TeamStore`. If it is unreachable, use :meth:`load_copy`."""
        return await self._locked(lambda: self._read(self._fetch()))

    async def load_copy(self) -> tuple[str, list[TeamEntry], list[str]]:
        """Return what :meth:`load` returned last, from the local copy."""
        return await self._locked(lambda: self._read(self._copy_tip()))

    async def files(self, name: str, number: int) -> dict[str, bytes]:
        """See :class:`TeamStore`."""
        return await self._locked(lambda: self._files(name, number))

    async def append(
        self, tip: str, entries: Sequence[TeamEntry], files: Mapping[int, Files] | None = None
    ) -> None:
        """See :class:`TeamStore`."""
        await self._locked(lambda: self._append(tip, entries, files or {}))

    # Blocking parts, run in a thread

    async def _locked(self, work: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(self._run_locked, work)

    def _run_locked(self, work: Callable[[], Result]) -> Result:
        from filelock import FileLock, Timeout

        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with FileLock(self._lock, timeout=LOCK_SECONDS, mode=0o600):
                self._ensure_copy()
                return work()
        except Timeout:
            raise StoreUnreachable("another process is using the team's skills") from None

    def _ensure_copy(self) -> None:
        if not (self._copy / "HEAD").is_file():
            shutil.rmtree(self._copy, ignore_errors=True)
            git(self._copy, "init", "--bare", "--quiet", "--template=")

    def _tip(self) -> str:
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        output = git(self._lock.parent / "ask.git", "ls-remote", self._url, self._branch)
        fields = output.decode().split()
        return fields[0] if fields else ""

    def _copy_tip(self) -> str:
        with suppress(GitFailed):
            return git(self._copy, "rev-parse", "--verify", "--quiet", COPY_REF).decode().strip()
        return ""

    def _fetch(self) -> str:
        """Bring the copy up to date and return its tip."""
        remote, local = self._tip(), self._copy_tip()
        if remote == local:
            return local
        if not remote:
            raise StoreUnreachable(f"the branch {self._branch} is missing from {self._url}")
        try:
            self._fetch_into_copy()
        except GitFailed:
            self._recreate_copy(local)
        return self._copy_tip()

    def _fetch_into_copy(self) -> None:
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        git(self._copy, "fetch", *quiet, self._url, f"{self._branch}:{COPY_REF}")

    def _recreate_copy(self, old_tip: str) -> None:
        """Recreate the copy, which also removes locks left by a killed process."""
        old = self._copy.with_name(f"{self._copy.name}.{uuid4().hex}")
        self._copy.rename(old)
        try:
            self._ensure_copy()
            self._fetch_into_copy()
            self._refuse_rewritten(old_tip)
        except StoreUnreachable:
            shutil.rmtree(self._copy, ignore_errors=True)
            old.rename(self._copy)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def _refuse_rewritten(self, old_tip: str) -> None:
        if not old_tip:
            return
        try:
            git(self._copy, "merge-base", "--is-ancestor", old_tip, COPY_REF)
        except GitFailed as error:
            raise StoreUnreachable(
                f"the history of {self._url} was rewritten, so it is not loaded. If that was "
                f"intended, remove {self._copy}"
            ) from error

    def _read(self, tip: str) -> tuple[str, list[TeamEntry], list[str]]:
        if not tip:
            return "", [], []
        listed = git(self._copy, "ls-tree", "-r", "-z", tip, "--", "skills/")
        found: list[tuple[str, re.Match[str]]] = []
        for line in listed.decode("utf-8", "replace").split("\0"):
            about, _, path = line.partition("\t")
            match = _ENTRY.fullmatch(path)
            if match is not None and about.startswith("100644 blob "):
                found.append((about.split()[2], match))
        if len(found) > MAX_ENTRIES:
            raise StoreUnreachable(f"{self._url} has more than {MAX_ENTRIES:,} entries")
        entries: list[TeamEntry] = []
        problems: list[str] = []
        for data, (_, match) in zip(self._blobs([sha for sha, _ in found]), found, strict=True):
            name, number, kind = match[1], int(match[2]), match[3]
            try:
                entries.append(TeamEntry.from_json(data, name, number, kind))
            except InvalidEntry as error:
                problems.append(f"{name} version {number}: {kind}.json is not accepted: {error}")
        return tip, entries, problems

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
        tip, folder = self._copy_tip(), f"skills/{name}/{number}/files/"
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
            if int(fields[3]) > MAX_FILE_BYTES or len(paths) >= MAX_FILES:
                raise StoreUnreachable(
                    f"version {number} of {name} has too many or too large files"
                )
            shas.append(fields[2])
            paths.append(path.removeprefix(folder))
        return dict(zip(paths, self._blobs(shas), strict=True))

    def _append(self, tip: str, entries: Sequence[TeamEntry], files: Mapping[int, Files]) -> None:
        if self._fetch() != tip:
            raise StoreChanged("the team's skills changed meanwhile")
        name = entries[0].name
        contents = {f"skills/{name}/{e.number}/{e.kind}.json": e.to_json() for e in entries}
        for number, of_version in files.items():
            for path, data in of_version.items():
                contents[f"skills/{name}/{number}/files/{path}"] = data
        message = ", ".join(f"{e.name} {e.number} {e.kind} by {e.by}" for e in entries)
        commit = self._commit(tip, contents, message)
        try:
            git(self._copy, "push", "--quiet", self._url, f"{commit}:{self._branch}")
        except GitFailed as error:
            now = self._tip()  # the push may have succeeded and only its answer was lost
            if now != commit:
                if now != tip or any(word in error.stderr for word in _PUSH_REJECTED):
                    raise StoreChanged("the team's skills changed meanwhile") from error
                raise
        with suppress(GitFailed):
            git(self._copy, "update-ref", COPY_REF, commit)

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
        commit = git(self._copy, "commit-tree", tree, *parents, data=message.encode())
        return commit.decode().strip()
