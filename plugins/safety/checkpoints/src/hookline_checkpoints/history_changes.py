"""What a repository has lost since a checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .git import Git
from .history_store import HistoryStore, KeptState, existing
from .repository import STASH, NoRepository, Repository, RepositoryState, find, is_id, read

SHOWN_ID_DIGITS = 7
_TRACKING = ("refs/remotes/", "refs/prefetch/")
"""Refs that git fetch moves; they come back only with a repository that was deleted."""
NO_STATE = RepositoryState("", "", "", {}, (), "", "")


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """What a repository has lost. ``refs`` are the kept ids of refs that were deleted, rewritten or
    damaged, ``stash`` the dropped entries, oldest first. ``head`` is what was checked out, empty if
    it still is. ``missing`` are the ids of objects that no longer exist. ``repository`` is None if
    it no longer exists itself."""

    kept: KeptState
    repository: Repository | None
    now: RepositoryState
    refs: Mapping[str, str] = field(default_factory=dict)
    stash: tuple[tuple[str, str], ...] = ()
    head: str = ""
    missing: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was lost."""
        lost = self.refs or self.stash or self.head or self._damaged_stash
        return not lost and self.repository is not None

    @property
    def _damaged_stash(self) -> list[str]:
        """The messages of entries that are still listed, but whose objects are missing."""
        listed = self.missing & {oid for oid, _ in self.now.stash}
        return [message for oid, message in self.kept.state.stash if oid in listed]

    def lines(self) -> list[str]:
        """Return what was lost, one line each."""
        where = "" if self.kept.place == ".git" else f" in {self.kept.place.removesuffix('/.git')}"
        if self.repository is None:
            names = [name for name in self.kept.state.refs if name != STASH]
            refs = _counted(len(names), "branch or tag", "branches and tags")
            entries = _counted(len(self.kept.state.stash), "stash entry", "stash entries")
            return [f"{self.kept.place} is gone or damaged, with {refs} and {entries}"]
        found = [self._line(name) + where for name in sorted(self.refs)]
        found += [
            f"stash entry dropped: {message or oid[:SHOWN_ID_DIGITS]}"
            for oid, message in self.stash
        ]
        found += [f"stash entry damaged: {message}" for message in self._damaged_stash]
        if self.head:
            before, now = _short(self.head), _short(self.now.head)
            found.append(f"checked out: {before} → {now}{where}")
        return found

    def _line(self, name: str) -> str:
        kept, now = self.refs[name], self.now.refs.get(name)
        what = _short(name)
        if now is None:
            return f"{what} ({kept[:SHOWN_ID_DIGITS]}) was deleted"
        if now == kept:
            return f"{what}: commits are missing"
        return f"{what}: {kept[:SHOWN_ID_DIGITS]} → {now[:SHOWN_ID_DIGITS]}"


async def changes_since(store: HistoryStore, folder: Path, ref: str) -> list[HistoryChange]:
    """Return what the repositories of ``folder`` have lost since the checkpoint ``ref``.

    Raises ``CheckpointError`` and ``OSError``.
    """
    found = [await change_of(store, folder, kept) for kept in await store.kept(folder, ref)]
    return [change for change in found if not change.is_empty]


async def change_of(store: HistoryStore, folder: Path, kept: KeptState) -> HistoryChange:
    """Return what one repository has lost. Raises ``CheckpointError`` and ``OSError``."""
    try:
        repository = await asyncio.to_thread(find, folder, folder / kept.place)
        now = await asyncio.to_thread(read, repository)
    except NoRepository:
        return HistoryChange(kept, None, NO_STATE)
    if str(repository.common_dir) != kept.state.common_dir:
        return HistoryChange(kept, repository, now)  # Another repository: not to be changed.
    if not kept.state.tips:
        return HistoryChange(kept, repository, now)  # Without commits there was nothing to lose.
    own = Git(store.git_dir(kept.key), objects=repository.objects)
    present = await existing(own, {*now.tips, *kept.state.tips})
    git = Git(store.git_dir(kept.key), borrowed=[repository.objects])
    refs = await _lost_refs(git, kept.state, now, present)
    dropped = {oid for oid, _ in kept.state.stash} - {oid for oid, _ in now.stash}
    stash = tuple((oid, text) for oid, text in reversed(kept.state.stash) if oid in dropped)
    head = "" if kept.state.head == now.head else kept.state.head
    missing = frozenset(kept.state.tips - present)
    return HistoryChange(kept, repository, now, refs, stash, head, missing)


async def is_lost_between(store: HistoryStore, kept: KeptState, later: RepositoryState) -> bool:
    """Whether a repository lost something from one kept state to a ``later`` one."""
    before = kept.state
    if {oid for oid, _ in before.stash} - {oid for oid, _ in later.stash}:
        return True
    git = Git(store.git_dir(kept.key))
    return bool(await _lost_refs(git, before, later, {*before.tips, *later.tips}))


async def _lost_refs(
    git: Git, kept: RepositoryState, now: RepositoryState, present: Collection[str]
) -> dict[str, str]:
    """Return the refs that no longer lead to what they named. ``present`` are the objects that
    exist; ``git`` reads those of both states."""
    return {
        name: oid
        for name, oid in kept.refs.items()
        if name != STASH
        and not name.startswith(_TRACKING)
        and await _is_lost(git, name, oid, now.refs.get(name, ""), present)
    }


async def _is_lost(git: Git, name: str, kept: str, now: str, present: Collection[str]) -> bool:
    if kept == now:
        return kept not in present
    if now not in present or name.startswith("refs/tags/"):
        return True
    # Exit code 1: the new commit does not contain the old one; 128: one of them is no commit.
    async with git.process("merge-base", "--is-ancestor", kept, now) as process:
        await process.communicate()
    return process.returncode != 0


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _short(name: str) -> str:
    if is_id(name):
        return name[:SHOWN_ID_DIGITS]
    for prefix, kind in (("refs/heads/", "branch "), ("refs/tags/", "tag ")):
        if name.startswith(prefix):
            return kind + name.removeprefix(prefix)
    return name or "nothing"
