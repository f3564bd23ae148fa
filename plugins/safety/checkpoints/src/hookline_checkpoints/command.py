"""The command ``/rewind`` and its forms."""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Context
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.sentences import N_

from . import rewind, texts
from .approval import refusal
from .conversation import turns_since, undo_since
from .errors import CheckpointError
from .file_restorer import FileRestorer
from .history_changes import HistoryChange, change_of, changes_since, is_lost_between
from .history_restorer import HistoryRestorer
from .repository import RepositoryState
from .rewind_choice import AGENT_ONLY, ALL_OWNERS, Part, RewindChoice, RewindOffer, choose
from .snapshot_manager import Chat, SnapshotManager
from .store import SavedSnapshot, SnapshotContent

REWIND_TIMEOUT = 300.0
"""Seconds for a whole rewind."""
MAX_DIFF_BYTES = 12_000
NO_CHECKPOINT = N_("There is no checkpoint in this chat yet; one is made before the first write.")
_HASH = re.compile(r"[0-9a-f]{4,64}")
_FORM = re.compile(
    r"(?P<diff>diff\s+)?(?P<hash>\S+)"
    r"(?P<words>(?:\s+(?:files|all|conversation|both|history))*)(?:\s+--\s+(?P<path>.+))?",
    re.DOTALL | re.IGNORECASE,
)
_PARTS: Mapping[str, tuple[Part, ...]] = {
    "files": ("files",),
    "all": ("files",),
    "conversation": ("conversation",),
    "both": ("files", "conversation"),
    "history": ("history",),
}


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """A command that names a snapshot. ``path`` is empty for the whole snapshot; ``choice`` is what
    to restore, None to ask the person."""

    diff: bool
    prefix: str
    path: str
    choice: RewindChoice | None


def parse(args: str) -> RewindRequest | None:
    """Parse a command; None for the list. Raises ``CheckpointError`` with the usage."""
    text = args.strip()
    if not text:
        return None
    form = _FORM.fullmatch(text)
    prefix = form["hash"].lower() if form else ""
    if form is None or not _HASH.fullmatch(prefix):
        raise CheckpointError(
            N_("Name a checkpoint by 4 to 64 hexadecimal digits, as /rewind lists them.")
            + f"\n{texts.USAGE}"
        )
    path = (form["path"] or "").strip()
    words = form["words"].lower().split()
    choice = None
    if words or path:
        parts = {part for word in words for part in _PARTS[word]} or {"files"}
        owners = ALL_OWNERS if "all" in words else AGENT_ONLY
        choice = RewindChoice(frozenset(parts), owners)
    return RewindRequest(bool(form["diff"]), prefix, path, choice)


class Rewinder:
    """Answers ``/rewind`` for one chat."""

    def __init__(self, keeper: SnapshotManager, ctx: Context) -> None:
        self._snapshots = keeper
        self._ctx = ctx
        self._chat = Chat(ctx.session.channel, ctx.session.chat_id)
        self._now = ctx.host.now()
        self._restorer = FileRestorer(keeper, ctx.paths, self._chat, self._now)

    async def answer(self, args: str) -> str:
        """Return the answer to the command. Raises ``CheckpointError`` and ``OSError``."""
        asked = parse(args)
        if asked is None:
            return await self._list()
        target = await self._find(asked.prefix)
        if asked.diff:
            return await self._changes_since(target)
        within = _within(target.folder, asked.path)
        offer = await self._offer(target, within)
        choice = asked.choice or await choose(self._ctx, offer)
        if choice is None:
            return f"{texts.NOTHING} {texts.choice_hint(target)}"
        # Outside the terminal, a person has to approve it.
        is_approved_here = self._ctx.channel in ("", TERMINAL)
        refused = "" if is_approved_here else await refusal(self._ctx, offer, within, choice)
        return refused or await self._go_back(offer, within, choice)

    async def changes_since_last(self) -> str:
        """Return what has changed since the chat's last checkpoint. Raises ``CheckpointError`` and
        ``OSError``."""
        found = await self._snapshots.of_chat(self._chat, self._now)
        return await self._changes_since(found[0]) if found else NO_CHECKPOINT

    async def _changes_since(self, target: SavedSnapshot) -> str:
        scope = self._snapshots.scope(target.folder, self._ctx.paths)
        async with asyncio.timeout(REWIND_TIMEOUT), self._snapshots.holding(target.folder):
            present = await self._snapshots.present(scope)
            return await self._difference(target, present.commit)

    async def _offer(self, target: SavedSnapshot, within: str) -> RewindOffer:
        """Return what could be restored."""
        async with asyncio.timeout(REWIND_TIMEOUT):
            files = await self._restorer.compare(target, within)
            history, problem = ([], "") if within else await self._history(target)
        lines = [line for change in history for line in change.lines()]
        return RewindOffer(target, files, await turns_since(self._ctx, target), lines, problem)

    async def _history(self, target: SavedSnapshot) -> tuple[list[HistoryChange], str]:
        """Return what the repositories in the folder lost since the checkpoint, and why that cannot
        be told."""
        try:
            histories = self._snapshots.histories
            return await changes_since(histories, target.folder, target.ref), ""
        except (CheckpointError, OSError) as error:
            return [], str(error)

    async def _restore_history(self, target: SavedSnapshot) -> list[str]:
        """Bring back what the repositories lost; return what was done."""
        changes, problem = await self._history(target)
        if problem:
            return [texts.history_problem(problem)]
        lines = []
        for change in changes:
            restorer = HistoryRestorer(self._snapshots.histories, target.folder, change)
            try:
                lines += (await restorer.restore()).lines()
            except (CheckpointError, OSError) as error:
                lines.append(f"The history of the repository is not back: {error}.")
        return lines or [f"The repository has lost nothing since {texts.clock(target)}."]

    async def _go_back(self, offer: RewindOffer, within: str, choice: RewindChoice) -> str:
        target = offer.target
        if "conversation" in choice.parts and not offer.turns:
            return f"{texts.NOTHING} {texts.elsewhere(target, self._ctx.session.id)}"
        answer = []
        if "conversation" in choice.parts:
            answer.append(await undo_since(self._ctx, offer.turns))
        if "files" in choice.parts:
            async with asyncio.timeout(REWIND_TIMEOUT):
                answer.append(await self._restorer.restore(target, within, choice.owners))
        if "history" in choice.parts:
            async with asyncio.timeout(REWIND_TIMEOUT), self._snapshots.holding(target.folder):
                answer += await self._restore_history(target)
        elif offer.history and "files" in choice.parts:
            answer.append(texts.history_lost(target, offer.history))
        elif offer.problem:
            answer.append(texts.history_problem(offer.problem))
        return "\n".join(answer)

    async def _list(self) -> str:
        found = await self._snapshots.of_chat(self._chat, self._now)
        notes = await asyncio.to_thread(self._interruptions, found)
        if not found:
            return NO_CHECKPOINT
        counts = await self._counts(found)
        workspace = str(self._ctx.paths.workspace)
        lost = await self._lost_histories(found)
        return "\n".join([texts.listed(found, counts, workspace, lost), *notes])

    async def _lost_histories(self, found: list[SavedSnapshot]) -> set[str]:
        """Return the commits of checkpoints until whose next one, or now, a repository lost
        something of its history."""
        histories = self._snapshots.histories
        newer: dict[tuple[Path, str], RepositoryState] = {}
        lost = set()
        for saved in found:
            for kept in await histories.kept(saved.folder, saved.ref):
                later = newer.get((saved.folder, kept.place))
                with suppress(CheckpointError, OSError):
                    if later is not None and await is_lost_between(histories, kept, later):
                        lost.add(saved.commit)
                    elif later is None:
                        change = await change_of(histories, saved.folder, kept)
                        lost |= set() if change.is_empty else {saved.commit}
                newer[saved.folder, kept.place] = kept.state
        return lost

    async def _counts(self, found: list[SavedSnapshot]) -> Mapping[str, Mapping[str, int]]:
        """Return for each commit what changed until the next one of its folder, or until now."""
        newer: dict[Path, str] = {}
        pairs: dict[str, tuple[str, str]] = {}
        for saved in found:
            if saved.folder not in newer:
                newer[saved.folder] = await self._root_now(saved)
            if newer[saved.folder]:
                pairs[saved.commit] = (saved.root, newer[saved.folder])
            newer[saved.folder] = saved.root
        counted = await self._snapshots.store.changes(list(pairs.values()))
        return dict(zip(pairs, counted, strict=True))

    async def _root_now(self, saved: SavedSnapshot) -> str:
        """Return the tree of the folder's current state, empty if it cannot be determined."""
        with suppress(CheckpointError, OSError, TimeoutError):
            scope = self._snapshots.scope(saved.folder, self._ctx.paths)
            async with asyncio.timeout(REWIND_TIMEOUT), self._snapshots.holding(saved.folder):
                present = await self._snapshots.present(scope)
            return await self._snapshots.store.root(present.commit)
        return ""

    async def _find(self, prefix: str) -> SavedSnapshot:
        found = await self._snapshots.find(self._chat, prefix, self._now)
        if not found:
            raise CheckpointError(
                N_(f"There is no checkpoint {prefix} in this chat. Run /rewind for a list.")
            )
        if len({saved.commit for saved in found}) > 1:
            several = ", ".join(saved.commit[: len(prefix) + 6] for saved in found[:5])
            raise CheckpointError(N_(f"{prefix} matches several: {several}"))
        return found[0]

    async def _difference(self, target: SavedSnapshot, commit: str) -> str:
        store = self._snapshots.store
        patch, whole = await store.difference(target.commit, commit, MAX_DIFF_BYTES)
        old, new = await store.content(target.commit), await store.content(commit)
        return texts.difference(target, patch, whole, _mode_changes(old, new))

    def _interruptions(self, found: list[SavedSnapshot]) -> list[str]:
        """Return the interrupted rewinds of this chat."""
        mine = {saved.commit for saved in found}
        notes = []
        for folder in dict.fromkeys(saved.folder for saved in found):
            with suppress(OSError, ValueError, KeyError, TypeError):
                record = json.loads(self._snapshots.rewind_mark_path(folder).read_bytes())
                if record["undo"] in mine:
                    notes.append(texts.interrupted(record["target"], record["undo"]))
        return notes


def _within(folder: Path, path: str) -> str:
    """Return ``path``, as a person writes it, relative to ``folder``. Raises
    ``CheckpointError``."""
    if not path:
        return ""
    joined = posixpath.normpath(posixpath.join(str(folder), path))
    if joined == str(folder) or not joined.startswith(str(folder) + "/"):
        raise CheckpointError(f"{texts.name(path)} is not below {texts.name(str(folder))}.")
    return joined.removeprefix(str(folder) + "/")


def _mode_changes(old: SnapshotContent, new: SnapshotContent) -> list[str]:
    """Return the mode changes that a patch does not show."""
    lines = []
    for path in sorted(old.files.keys() & new.files.keys()):
        if old.files[path][0] == new.files[path][0] != 0o120000:
            before, after = rewind.mode_of(old, path), rewind.mode_of(new, path)
            if before != after:
                lines.append(f"mode of {texts.name(path)}: {before:o} → {after:o}")
    return lines
