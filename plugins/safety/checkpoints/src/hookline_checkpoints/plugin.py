"""The plugin: snapshots before writes, the command ``/rewind``, pruning, and a check of git."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    ContextBlock,
    HooklineError,
    Host,
    Job,
    Plugin,
    Session,
    ToolCall,
    ToolResult,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs import Checkpoints as CheckpointService

from .command import Rewinder
from .config import CheckpointsConfig
from .errors import CheckpointError, TooLarge
from .git import FIX, missing_git
from .git_index import unsaved
from .snapshot import has_all_of
from .snapshot_manager import MAX_PACKS, Chat, SnapshotManager
from .texts import title_of, undo_hint

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .snapshot import Present

PRUNE_INTERVAL = 3600.0
_PATH_ARGUMENTS = ("path", "file_path", "workdir", "cwd")
"""Arguments of tools that name a file or folder."""
NO_GIT = (
    "No files can be restored: {}. {} The conversation alone goes back with /undo, or /undo N for "
    "the last N turns; files stay."
)
_HOLD_TIMEOUT = 4.0
"""Seconds that a guard waits for a snapshot; its hook has five."""


class SavedFolders:
    """The folders for which a snapshot was taken or tried in this turn."""

    def __init__(self) -> None:
        self.folders: set[Path] = set()


class Checkpoints(Plugin[CheckpointsConfig]):
    """Saves a folder before the first write of a turn, and restores it on request."""

    _snapshots: SnapshotManager

    _has_git: bool | None = None
    """Whether git is installed and new enough; None before the first check."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``Checkpoints``."""
        self._snapshots = SnapshotManager(host.home, self.config)
        host.services.provide(CheckpointService, self)
        host.signals.connect("undone", self._undone)

    # The service

    async def hold(self, ctx: Context, place: Path | None = None) -> bool:
        """Save the workspace now; return whether the snapshot includes every file that git tracks.
        With ``place``, the folder around it is saved and must include all of ``place``."""
        folder = ctx.paths.workspace if place is None else _allowed_around(ctx, str(place))
        if folder is None or not await self._can_save(folder):
            return False
        try:
            async with asyncio.timeout(_HOLD_TIMEOUT):
                present = await self._take(ctx, folder)
            ctx.stash.of(SavedFolders).folders.add(folder)
            if place is not None:
                return has_all_of(present, place, folder)
            return not await asyncio.to_thread(unsaved, folder, present.files, present.skipped)
        except (TimeoutError, CheckpointError, OSError) as error:
            self.log.info("cannot save %s before the call: %s", folder, error or "it took too long")
            return False

    async def _can_save(self, folder: Path) -> bool:
        if self._has_git is None:
            missing = await missing_git(self.host.home)
            self._has_git = not missing
            if missing:
                self.log.info("checkpoints are off: %s", missing)
        return self._has_git and not self._snapshots.is_given_up(folder, self.host.now())

    async def _take(self, ctx: Context, folder: Path) -> Present:
        """Take a snapshot. Raises ``CheckpointError`` and ``OSError``."""
        inbound = ctx.turn.inbound
        about = {"title": title_of(inbound.text), "turn": ctx.turn.id, "session": ctx.session.id}
        chat = Chat(ctx.session.channel, ctx.session.chat_id)
        scope = self._snapshots.scope(folder, ctx.paths)
        async with self._snapshots.holding(folder):
            present, _ = await self._snapshots.save(scope, chat, ctx.host.now(), about)
        return present

    # After an undo

    def _undone(self, event: Any, ctx: Any = None) -> None:
        """Add to the answer of ``/undo`` how to restore the files of the turn."""
        event.notes.append(self._files_of(event.session, event.turn_id))

    async def _files_of(self, session: Session, turn_id: str) -> str:
        chat = Chat(session.channel, session.chat_id)
        with suppress(CheckpointError, OSError):
            for saved in await self._snapshots.of_chat(chat, self.host.now()):
                if saved.about.get("turn") == turn_id:
                    return undo_hint(saved)
        return ""

    # Before a write

    @hookimpl
    def around_tool(
        self, ctx: Context, call: ToolCall
    ) -> Callable[[ToolCall, Callable[[ToolCall], Awaitable[ToolResult]]], Any] | None:
        """Save the folder before a tool that may write."""
        if ctx.tool is None or ctx.tool.read_only:
            return None

        async def save_and_call(
            call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
        ) -> ToolResult:
            try:
                await self._before_write(ctx, call)
            except Exception as error:  # no error here stops the turn
                self._notify_once(ctx, f"No checkpoint was taken: {error or type(error).__name__}")
            return await call_next(call)

        return save_and_call

    async def _before_write(self, ctx: Context, call: ToolCall) -> None:
        tried = ctx.stash.of(SavedFolders).folders
        for folder in _folders(ctx, call):
            if folder in tried:
                continue
            tried.add(folder)
            if await self._can_save(folder):
                await self._save(ctx, folder)

    async def _save(self, ctx: Context, folder: Path) -> None:
        """Take the turn's snapshot of ``folder``; tell the person if it fails."""
        seconds = self.config.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._take(ctx, folder)
        except TimeoutError:
            self._snapshots.give_up(folder, self.host.now())
            self._notify_once(
                ctx,
                f"No checkpoint of {folder}: it took longer than {seconds:g} s. It is not tried "
                "again for a day; changes until then cannot be rewound.",
            )
        except TooLarge as error:
            self._snapshots.give_up(folder, self.host.now())
            reason = str(error).rstrip(".")
            self._notify_once(
                ctx,
                f"No checkpoint of {folder}: {reason}. It is not tried again for a day; "
                "changes until then cannot be rewound.",
            )
        except (CheckpointError, OSError) as error:
            reason = str(error).rstrip(".")
            self._notify_once(
                ctx, f"No checkpoint of {folder}: {reason}. Changes now cannot be rewound."
            )

    def _notify_once(self, ctx: Context, text: str) -> None:
        """Notify the person, once in a session."""
        self.log.warning("%s", text)
        notified: set[str] = ctx.stash.session.setdefault("said", set())
        if text not in notified:
            notified.add(text)
            ctx.notify(text)

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Delete snapshots beyond the limits, after a turn that added one."""
        if ctx.stash.of(SavedFolders).folders:
            await self._prune(MAX_PACKS)

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes old snapshots."""
        register(Job("prune", lambda: self._prune(1), PRUNE_INTERVAL, at_start=True))

    async def _prune(self, packs: int) -> None:
        try:
            await self._snapshots.prune(self.host.now(), packs)
        except (CheckpointError, OSError) as error:
            self.log.warning("cannot delete old checkpoints: %s", error)

    async def _complete_rewind(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        from .completion import completions

        found = await self.host.storage.fetch("chat_of", id=session_id)
        if not found:
            return []
        chat = Chat(found[0]["channel"], found[0]["chat_id"])
        return completions(await self._snapshots.of_chat(chat, self.host.now()), typed)

    @command(
        "/rewind",
        audience="session",
        aliases=("/rollback",),
        category="Conversation",
        complete=_complete_rewind,
    )
    async def rewind(self, ctx: Context, args: str) -> str:
        """List this chat's checkpoints, or go back to one: /rewind [diff] [HASH [-- PATH]].

        /rewind HASH asks whether files, conversation or both go back; the word may follow the hash.
        The answer names the hash that undoes it.
        """
        if missing := await missing_git(self.host.home):
            return NO_GIT.format(missing, FIX)
        try:
            return await Rewinder(self._snapshots, ctx).answer(args)
        except TimeoutError:
            return "That took too long and was aborted. /rewind shows the current state."
        except (CheckpointError, OSError) as error:
            return str(error)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Tell the model once that files were restored."""
        if ctx.session.parent_id is not None:
            return None
        path = self._snapshots.notice_path(Chat(ctx.session.channel, ctx.session.chat_id))
        with suppress(OSError):
            text = path.read_text("utf-8")
            path.unlink()
            return ContextBlock("notices", text)
        return None

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check of git."""
        register(Check("git", self._check))

    async def _check(self) -> CheckResult:
        missing = await missing_git(self.host.home)
        if missing:
            detail = f"{missing}, so nothing is saved that /rewind could restore"
            return CheckResult(True, detail, FIX, hint=True)
        return CheckResult(True, "git works; a checkpoint is made before the first write of a turn")


def _folders(ctx: Context, call: ToolCall) -> list[Path]:
    """Return the workspace, and the allowed folders around paths outside it that a call names."""
    workspace = ctx.paths.workspace
    found = [workspace]
    for argument in _PATH_ARGUMENTS:
        named = call.arguments.get(argument)
        if isinstance(named, str) and named:
            folder = _allowed_around(ctx, named)
            if folder is not None and not folder.is_relative_to(workspace):
                found.append(folder)
    return found


def _allowed_around(ctx: Context, named: str) -> Path | None:
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
