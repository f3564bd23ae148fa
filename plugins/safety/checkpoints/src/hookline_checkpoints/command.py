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
from typing import cast

from hookline_hookspecs import Context
from hookline_hookspecs.channels import TERMINAL

from . import rewind, texts
from .approval import refusal
from .conversation import NOTHING, SCOPE_HINT, Scope, ask_scope, turns_since, undo_since
from .errors import CheckpointError
from .folder_state import private_folder, replace_file
from .snapshot_manager import Chat, SnapshotManager
from .store import SavedSnapshot, SnapshotContent

REWIND_TIMEOUT = 300.0
"""Seconds for a whole rewind."""
MAX_DIFF_BYTES = 12_000
_HASH = re.compile(r"[0-9a-f]{4,64}")
_FORM = re.compile(
    r"(?P<diff>diff\s+)?(?P<hash>\S+)(?:\s+(?P<scope>files|conversation|both))?"
    r"(?:\s+--\s+(?P<path>.+))?",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """A command that names a snapshot. ``path`` is empty for the whole snapshot; ``scope`` is what
    to restore, None to ask the person."""

    diff: bool
    prefix: str
    path: str
    scope: Scope | None


def parse(args: str) -> RewindRequest | None:
    """Parse a command; None for the list. Raises ``CheckpointError`` with the usage."""
    text = args.strip()
    if not text:
        return None
    form = _FORM.fullmatch(text)
    prefix = form["hash"].lower() if form else ""
    if form is None or not _HASH.fullmatch(prefix):
        raise CheckpointError(
            "A checkpoint is named by 4 to 64 hexadecimal digits, as /rewind lists them. "
            + texts.USAGE
        )
    path = (form["path"] or "").strip()
    scope = cast("Scope | None", form["scope"].lower() if form["scope"] else None)
    return RewindRequest(bool(form["diff"]), prefix, path, "files" if path else scope)


class Rewinder:
    """Answers ``/rewind`` for one chat."""

    def __init__(self, keeper: SnapshotManager, ctx: Context) -> None:
        self._snapshots = keeper
        self._ctx = ctx
        self._chat = Chat(ctx.session.channel, ctx.session.chat_id)
        self._now = ctx.host.now()

    async def answer(self, args: str) -> str:
        """Return the answer to the command. Raises ``CheckpointError`` and ``OSError``."""
        asked = parse(args)
        if asked is None:
            return await self._list()
        target = await self._find(asked.prefix)
        scope = self._snapshots.scope(target.folder, self._ctx.paths)
        if asked.diff:
            async with asyncio.timeout(REWIND_TIMEOUT), self._snapshots.holding(target.folder):
                present = await self._snapshots.present(scope)
                return await self._difference(target, present.commit)
        within = _within(target.folder, asked.path)
        turns = await turns_since(self._ctx, target)
        scope_ = asked.scope or (await ask_scope(self._ctx, target, turns) if turns else "files")
        refused = await self._refusal(target, within, scope_, turns) if scope_ else ""
        return refused or await self._go_back(target, within, scope_, turns)

    async def _refusal(self, target: SavedSnapshot, within: str, scope: Scope, turns: int) -> str:
        """Return why nothing is restored, empty if it may be. Outside the terminal, a person has to
        approve it."""
        if self._ctx.channel in ("", TERMINAL):
            return ""
        counts = await self._counts([target]) if scope != "conversation" else {}
        return await refusal(self._ctx, target, within, scope, turns, counts.get(target.commit))

    async def _go_back(
        self, target: SavedSnapshot, within: str, scope: Scope | None, turns: int
    ) -> str:
        if scope is None:
            return f"{NOTHING} {SCOPE_HINT.format(target.commit[: texts.HASH_CHARS])}"
        if scope != "files" and not turns:
            return f"{NOTHING} {texts.elsewhere(target, self._ctx.session.id)}"
        answer = [] if scope == "conversation" else [await self._rewind(target, within)]
        if scope != "files":
            answer.insert(0, await undo_since(self._ctx, turns))
        return "\n".join(answer)

    async def _list(self) -> str:
        found = await self._snapshots.of_chat(self._chat, self._now)
        notes = await asyncio.to_thread(self._interruptions, found)
        if not found:
            return "There is no checkpoint in this chat yet; one is made before the first write."
        counts = await self._counts(found)
        workspace = str(self._ctx.paths.workspace)
        return "\n".join([texts.listed(found, counts, workspace), *notes])

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
                f"There is no checkpoint {prefix} in this chat. Run /rewind for a list."
            )
        if len({saved.commit for saved in found}) > 1:
            several = ", ".join(saved.commit[: len(prefix) + 6] for saved in found[:5])
            raise CheckpointError(f"{prefix} matches several: {several}")
        return found[0]

    async def _difference(self, target: SavedSnapshot, commit: str) -> str:
        store = self._snapshots.store
        patch, whole = await store.difference(target.commit, commit, MAX_DIFF_BYTES)
        old, new = await store.content(target.commit), await store.content(commit)
        return texts.difference(target, patch, whole, _mode_changes(old, new))

    async def _rewind(self, target: SavedSnapshot, within: str) -> str:
        keeper = self._snapshots
        scope = keeper.scope(target.folder, self._ctx.paths)
        note = keeper.rewind_mark_path(target.folder)
        async with asyncio.timeout(REWIND_TIMEOUT), keeper.holding(target.folder):
            content = await keeper.store.content(target.commit)
            about = {"title": f"/rewind {target.commit[: texts.HASH_CHARS]}", "kind": "rewind"}
            present, _ = await keeper.save(
                scope, self._chat, self._now, about, forced_paths=content.files
            )
            work = rewind.plan(present, content, within)
            _require_known(within, work, content, present.files)
            record = json.dumps({"target": target.commit, "undo": present.commit}).encode()
            await asyncio.to_thread(replace_file, note, record)
            try:
                done = await rewind.apply_plan(keeper.store, target.folder, present, content, work)
            except (CheckpointError, OSError) as error:
                hint = texts.interrupted(target.commit, present.commit)
                raise CheckpointError(f"{error}. {hint}") from error
            await asyncio.to_thread(note.unlink, missing_ok=True)
        await asyncio.to_thread(self._store_notice, texts.model_notice(target, within, done))
        return texts.rewound(target, within, done, present.commit)

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

    def _store_notice(self, text: str) -> None:
        """Store a notice for the model's next turn in this chat."""
        path = self._snapshots.notice_path(self._chat)
        with suppress(OSError):
            private_folder(path.parent)
            replace_file(path, text.encode("utf-8", "backslashreplace"))


def _within(folder: Path, path: str) -> str:
    """Return ``path``, as a person writes it, relative to ``folder``. Raises
    ``CheckpointError``."""
    if not path:
        return ""
    joined = posixpath.normpath(posixpath.join(str(folder), path))
    if joined == str(folder) or not joined.startswith(str(folder) + "/"):
        raise CheckpointError(f"{texts.name(path)} is not below {texts.name(str(folder))}.")
    return joined.removeprefix(str(folder) + "/")


def _require_known(
    within: str, work: rewind.RewindPlan, content: SnapshotContent, files: Mapping[str, object]
) -> None:
    """Raise ``CheckpointError`` if the path exists neither in the snapshot nor now."""
    if not within:
        return
    known = (*content.files, *content.folders, *files)
    if not any(path == within or path.startswith(within + "/") for path in known):
        why = content.skipped.get(within) or content.skipped.get(within + "/")
        reason = f": {rewind.SKIP_REASONS.get(why, why)}" if why else ""
        raise CheckpointError(f"The checkpoint does not hold {texts.name(within)}{reason}.")


def _mode_changes(old: SnapshotContent, new: SnapshotContent) -> list[str]:
    """Return the mode changes that a patch does not show."""
    lines = []
    for path in sorted(old.files.keys() & new.files.keys()):
        if old.files[path][0] == new.files[path][0] != 0o120000:
            before, after = rewind.mode_of(old, path), rewind.mode_of(new, path)
            if before != after:
                lines.append(f"mode of {texts.name(path)}: {before:o} → {after:o}")
    return lines
