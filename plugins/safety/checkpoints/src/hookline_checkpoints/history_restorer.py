"""Brings back what a repository has lost, without losing anything that it has now.

Only names are added or moved: what a name loses is kept under ``refs/before-rewind/``. The files of
the work tree stay as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .errors import CheckpointError, GitFailed
from .git import Git
from .history_changes import HistoryChange, change_of
from .history_store import PACK_OBJECTS, HistoryStore, existing
from .repository import (
    BEFORE_REWIND,
    STASH,
    NoRepository,
    Repository,
    head_of,
    is_id,
    is_inside,
    read_file,
)

LOG_MESSAGE = "hookline: /rewind"
"""What the reflog says."""
_PLAIN = ("", "HEAD", "config", "index", "logs", "objects", "objects/pack", "packed-refs", "refs")
"""Paths of a repository that must not be links, because they are written."""


@dataclass(slots=True)
class HistoryResult:
    """What was brought back, what was replaced (its new name), and what failed, with the reason."""

    restored: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the answer for the person."""
        lines = ["The history of the repository is back. What had changed:", *self.restored]
        if self.replaced:
            names = ", ".join(self.replaced)
            lines.append(f"What was replaced is kept: {names} (git show NAME, git branch X NAME).")
        return lines + [f"Not restored: {reason}" for reason in self.failed]


class HistoryRestorer:
    """Restores one repository."""

    def __init__(self, store: HistoryStore, folder: Path, change: HistoryChange) -> None:
        self._histories = store
        self._folder = folder
        self._change = change
        self._kept = change.kept.state
        self._store = store.git_dir(change.kept.key)
        self._result = HistoryResult()
        self._stamp = time.strftime("%Y%m%d-%H%M%S")

    async def restore(self) -> HistoryResult:
        """Bring everything back. Raises ``CheckpointError`` and ``OSError``."""
        self._result.restored += self._change.lines()
        refs = dict(self._change.refs)
        if self._change.repository is None:
            await asyncio.to_thread(self._make)
            self._change = await change_of(self._histories, self._folder, self._change.kept)
            now = self._change.now.refs
            refs = {
                name: oid
                for name, oid in self._kept.refs.items()
                if name != STASH and (name in self._change.refs or name not in now)
            }
        repository = self._change.repository
        if repository is None:
            raise CheckpointError(f"{self._change.kept.place} cannot be made again")
        await asyncio.to_thread(_require_plain, repository)
        wanted = {*refs.values(), *(oid for oid, _ in self._change.stash), self._kept.head_id}
        wanted |= self._change.missing
        found = await self._copy(repository, wanted - {""})
        git = Git(repository.git_dir)
        refs = {name: oid for name, oid in refs.items() if oid in found}
        indexed = self._commit_to_index(git, refs)
        await self._keep_replaced(git, refs, with_index=bool(indexed))
        await self._set_names(git, refs)
        if indexed:
            await self._try("index", git, "read-tree", "--no-recurse-submodules", indexed)
        return self._result

    async def _set_names(self, git: Git, refs: Mapping[str, str]) -> None:
        """Set refs, stash and HEAD; the work tree stays."""
        for name, oid in refs.items():
            now = self._change.now.refs.get(name, "0" * len(oid))
            await self._try(f"{name} ({oid})", git, "update-ref", "-m", LOG_MESSAGE, name, oid, now)
        for oid, message in self._change.stash:
            log = ("--create-reflog", "-m", message or LOG_MESSAGE)
            what = f"stash entry {message} ({oid})"
            await self._try(what, git, "update-ref", *log, STASH, oid)
        head = self._change.head
        if is_id(head):
            await self._try("HEAD", git, "update-ref", "--no-deref", "HEAD", head)
        elif head:
            await self._try("HEAD", git, "symbolic-ref", "-m", LOG_MESSAGE, "HEAD", head)

    async def _try(self, what: str, git: Git, *arguments: str) -> None:
        try:
            await git.run(*arguments)
        except GitFailed as error:
            self._result.failed.append(f"{what}: {error}")

    def _make(self) -> None:
        """Make what is missing of the repository."""
        place, kept = self._folder / self._change.kept.place, self._kept
        git_dir, common = Path(kept.git_dir), Path(kept.common_dir)
        if git_dir != common and not git_dir.is_dir():
            raise CheckpointError(
                f"{git_dir} is gone, which belongs to the repository {common}. "
                "Make the work tree again with git worktree add."
            )
        if not common.is_dir() and not is_inside(self._folder, common):
            raise CheckpointError(f"the repository {common} outside of the folder is gone")
        common.mkdir(exist_ok=True, parents=True)
        _require_plain(Repository(place, git_dir, common))
        for name in ("objects/pack", "refs/heads", "refs/tags"):
            (common / name).mkdir(exist_ok=True, parents=True)
        _write_missing(common / "config", kept.config)
        with suppress(NoRepository):
            _write_missing(common / "shallow", read_file(self._store / "shallow"))
        with suppress(NoRepository):
            if not head_of(git_dir):
                (git_dir / "HEAD").unlink()
        head = kept.head if is_id(kept.head) else f"ref: {kept.head}"
        _write_missing(git_dir / "HEAD", f"{head}\n")
        if kept.git_file:
            _write_missing(place, kept.git_file)

    async def _copy(self, repository: Repository, oids: set[str]) -> set[str]:
        """Copy what ``oids`` need back into the repository, if anything is missing there; return
        those that the store has."""
        found = await existing(Git(self._store), oids)
        own = Git(self._store, objects=repository.objects)
        others = await existing(own, set(self._change.now.refs.values()) - oids)
        if found and not await _is_complete(own, found, others):
            git = Git(self._store, borrowed=[self._store / "objects"], objects=repository.objects)
            await git.run(
                *PACK_OBJECTS, str(repository.objects / "pack" / "pack"), data=_lines(found)
            )
        return found

    async def _keep_replaced(self, git: Git, refs: Mapping[str, str], with_index: bool) -> None:
        """Give what the refs, HEAD and the index name now another name."""
        now = self._change.now
        replaced = {
            name: now.refs[name] for name, oid in refs.items() if now.refs.get(name, oid) != oid
        }
        if self._change.head and is_id(now.head):
            replaced["HEAD"] = now.head
        if with_index and (index := await _staged(git, now.head_id)):
            replaced["index"] = index
        for name, oid in replaced.items():
            kept_name = f"{BEFORE_REWIND}{self._stamp}/{name.removeprefix('refs/')}"
            with suppress(GitFailed):  # The object may be missing.
                await git.run("update-ref", kept_name, oid)
                self._result.replaced.append(kept_name)

    def _commit_to_index(self, git: Git, refs: Mapping[str, str]) -> str:
        """Return the commit whose files the index has to list: the one that will be checked out, if
        that changes or there is no index. Empty if the index stays."""
        name = self._kept.head
        if not (self._change.head or name in refs) and (git.directory / "index").is_file():
            return ""
        return name if is_id(name) else refs.get(name, self._change.now.refs.get(name, ""))


async def _is_complete(own: Git, oids: Iterable[str], others: Iterable[str]) -> bool:
    """Whether everything that ``oids`` need exists; what ``others`` need is taken for granted."""
    with suppress(GitFailed):
        data = _lines(oids) + _lines(f"^{oid}" for oid in others)
        await own.run("rev-list", "--objects", "--quiet", "--stdin", data=data)
        return True
    return False


async def _staged(git: Git, head: str) -> str:
    """Return a commit of what is staged; empty if nothing is, or if it cannot be saved."""
    with suppress(GitFailed):
        if not (git.directory / "index").is_file():
            return ""
        tree = (await git.run("write-tree")).decode("ascii").strip()
        if head:
            same = await git.run("rev-parse", "--verify", f"{head}^{{tree}}")
            if tree == same.decode("ascii").strip():
                return ""
        parents = ("-p", head) if head else ()
        made = await git.run("commit-tree", tree, *parents, "-m", "staged before a rewind")
        return made.decode("ascii").strip()
    return ""


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\n" for word in sorted(words)).encode("ascii")


def _require_plain(repository: Repository) -> None:
    """Raise ``CheckpointError`` if a program put a link where something is written."""
    for folder in (repository.git_dir, repository.common_dir):
        for name in _PLAIN:
            if (folder / name).is_symlink():
                raise CheckpointError(f"{folder / name} is a link; remove it first")


def _write_missing(path: Path, text: str) -> None:
    with suppress(FileExistsError), path.open("x", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)
