"""The changes since a checkpoint with their owners: what a rewind lists and what it restores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from stat import S_ISDIR

from .change_log import MISSING, Changes, PathState, present_state, saved_state
from .exclusion_rules import is_skipped
from .ownership import Owner, Ownership
from .rewind import RewindPlan, plan, selected
from .snapshot import Present
from .store import SnapshotContent

ADDED, CHANGED, DELETED = "+", "~", "−"


@dataclass(frozen=True, slots=True)
class OwnedPlan:
    """Everything that differs from the checkpoint ``content``. ``owners`` and ``signs`` (what
    happened since) are by path; a folder's ends with ``/``."""

    present: Present
    content: SnapshotContent
    work: RewindPlan
    owners: Mapping[str, Owner]
    signs: Mapping[str, str]

    def paths(self, owner: Owner) -> dict[str, str]:
        """Return what ``owner`` changed: the sign by path, without the folders of listed paths."""
        found = {path: self.signs[path] for path in sorted(self.owners)}
        found = {path: sign for path, sign in found.items() if self.owners[path] == owner}
        return {
            path: sign
            for path, sign in found.items()
            if not path.endswith("/") or not any(_is_below(other, path) for other in found)
        }

    def chosen(self, owners: Collection[Owner], within: str = "") -> RewindPlan:
        """Return the changes of these owners, and that of the path ``within`` in any case."""
        return selected(
            self.work,
            lambda path: path in self.owners and (self.owners[path] in owners or path == within),
        )

    def left(self, owners: Collection[Owner], within: str = "") -> dict[str, Owner]:
        """Return the listed paths that ``chosen`` leaves as they are."""
        kept: tuple[Owner, ...] = ("other", "both")
        paths = {path: owner for owner in kept for path in self.paths(owner) if path != within}
        return {path: owner for path, owner in paths.items() if owner not in owners}

    def changes(self, work: RewindPlan) -> Changes:
        """Return the states before and after ``work``, for the record of changes."""
        paths = {*work.remove, *work.write}
        paths |= {path + "/" for path in (*work.make, *work.remove_folders)}
        paths |= {path if path in self.owners else path + "/" for path in work.modes}
        return {
            path: (present_state(self.present, path), saved_state(self.content, path))
            for path in paths
        }


def own(present: Present, content: SnapshotContent, calls: Ownership, within: str) -> OwnedPlan:
    """Return what differs between ``present`` and the snapshot ``content``, with the owners."""
    created = {path for path in calls.named if calls.before.get(path) == MISSING}
    work = plan(present, content, within, created)
    signs = dict.fromkeys((*work.remove, *(f"{path}/" for path in work.remove_folders)), ADDED)
    signs |= {path: CHANGED if path in present.files else DELETED for path in work.write}
    signs |= {path + "/": DELETED for path in work.make}
    for path in work.modes:
        key = path if path in content.files else path + "/"
        signs.setdefault(key, CHANGED)
    owners = {
        path: calls.of(path, saved_state(content, path), present_state(present, path))
        for path in signs
    }
    return OwnedPlan(present, content, work, owners, signs)


def with_named_files(content: SnapshotContent, calls: Ownership) -> SnapshotContent:
    """Return the snapshot's content with the skipped files that later calls named, as they were
    before the first of those calls."""
    files, modes = dict(content.files), dict(content.modes)
    for path in calls.named & calls.before.keys():
        before = calls.before[path]
        if before and path not in files and is_skipped(path, content.skipped):
            mode, oid = _parse(before)
            if oid:
                files[path], modes[path] = (mode, oid), mode & 0o7777
    return replace(content, files=files, modes=modes)


def _parse(state: PathState) -> tuple[int, str]:
    """Return mode and content id of a state; a folder has no id."""
    mode, _, oid = state.partition(" ")
    number = int(mode, 8)
    return number, "" if S_ISDIR(number) else oid


def _is_below(path: str, folder: str) -> bool:
    return path != folder and path.startswith(folder)
