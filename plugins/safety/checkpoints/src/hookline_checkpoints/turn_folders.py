"""The folders of a turn: their snapshots, and what each call changes in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hookline_hookspecs import Context, HooklineError, ToolCall

from .change_log import RunningCall, difference
from .folder_state import FolderState
from .snapshot import Present
from .snapshot_manager import Chat, SnapshotManager

PATH_ARGUMENTS = ("path", "file_path", "workdir", "cwd")
"""Arguments of tools that name a file or folder."""


@dataclass(slots=True)
class SavedFolder:
    """A folder with a snapshot of this turn. ``present`` and ``state`` are as it was last seen,
    ``named`` the paths that are saved although they may be ignored. For the snapshots ``refs``, the
    history of repositories is still to be kept."""

    path: Path
    present: Present
    state: FolderState | None = None
    named: set[str] = field(default_factory=set)
    refs: list[str] = field(default_factory=list)


class TurnFolders:
    """The folders for which a snapshot was tried in this turn, and those that have one."""

    def __init__(self) -> None:
        self.tried: set[Path] = set()
        self.saved: dict[Path, SavedFolder] = {}


@dataclass(frozen=True, slots=True)
class FolderCall:
    """A running call in one folder."""

    folder: SavedFolder
    before: Present
    record: RunningCall


class CallRecorder:
    """Records what a call changes in the saved folders. Methods raise like ``observe``."""

    def __init__(self, snapshots: SnapshotManager) -> None:
        self._snapshots = snapshots

    async def unsaved(self, ctx: Context, path: Path, named: Iterable[str]) -> SavedFolder:
        """Return a folder of which no snapshot could be taken, as it is now."""
        folder = SavedFolder(path, Present("", {}, {}, {}), named=set(named))
        await self._observe(ctx, folder, named)
        return folder

    async def look(self, ctx: Context, folder: SavedFolder, named: Iterable[str]) -> list[str]:
        """See what the folder holds now; return those of ``named`` that exist, are ignored, and are
        in no snapshot of this turn."""
        new = set(named) - folder.named
        await self._observe(ctx, folder, new)
        usual = folder.state.files if folder.state else {}
        return [path for path in new if path in folder.present.files and path not in usual]

    async def begin(self, ctx: Context, folder: SavedFolder, named: Iterable[str]) -> FolderCall:
        """Record that a call begins in a folder that was just seen."""
        folder.named.update(named)
        return FolderCall(folder, folder.present, await self.mark(ctx, folder.path, named))

    async def mark(self, ctx: Context, path: Path, named: Iterable[str]) -> RunningCall:
        """Record that a call begins in the folder ``path``. If nobody ends it, its changes remain
        unknown."""
        chat = Chat(ctx.session.channel, ctx.session.chat_id)
        log = self._snapshots.change_log(path)
        return await asyncio.to_thread(log.begin, chat.key, ctx.host.now(), tuple(named))

    async def end(self, ctx: Context, call: FolderCall) -> None:
        """Record what the call changed."""
        folder = call.folder
        await self._observe(ctx, folder, ())
        changes = await asyncio.to_thread(difference, call.before, folder.present, folder.named)
        await asyncio.to_thread(call.record.end, changes)

    async def _observe(self, ctx: Context, folder: SavedFolder, named: Iterable[str]) -> None:
        scope = self._snapshots.scope(folder.path, ctx.paths)
        forced = {*folder.present.files, *folder.named, *named}
        seen = await self._snapshots.observe(scope, folder.state, forced)
        folder.present, folder.state = seen.present, seen.state


def folders_of(ctx: Context, call: ToolCall) -> list[Path]:
    """Return the workspace, and the allowed folders around paths outside it that a call names."""
    workspace = ctx.paths.workspace
    found = [workspace]
    for named in _path_arguments(call):
        folder = allowed_around(ctx, named)
        if folder is not None and not folder.is_relative_to(workspace):
            found.append(folder)
    return list(dict.fromkeys(found))


def named_paths(ctx: Context, call: ToolCall, folder: Path) -> list[str]:
    """Return the paths in ``folder``, relative to it, that a call names and may use."""
    found = []
    for named in _path_arguments(call):
        try:
            place = ctx.paths.resolve(named)
        except (HooklineError, OSError, ValueError):
            continue  # The tool itself will report it.
        allowed = ctx.paths.check_path(str(place)) is None
        if allowed and place != folder and place.is_relative_to(folder):
            found.append(place.relative_to(folder).as_posix())
    return found


def allowed_around(ctx: Context, named: str) -> Path | None:
    """Return the outermost allowed folder around ``named``, or None."""
    try:
        place = ctx.paths.resolve(named)
    except (HooklineError, OSError, ValueError):
        return None  # The tool itself will report it.
    widest = None
    for folder in (place, *place.parents):
        if ctx.paths.check_path(str(folder)) is not None:
            break
        if folder.is_dir():
            widest = folder
    return widest


def _path_arguments(call: ToolCall) -> list[str]:
    found = [call.arguments.get(argument) for argument in PATH_ARGUMENTS]
    return [named for named in found if isinstance(named, str) and named]
