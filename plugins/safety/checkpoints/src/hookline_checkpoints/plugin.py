"""The plugin: snapshots before writes, the command ``/rewind``, pruning, and a check of git."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    ContextBlock,
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
from hookline_hookspecs.workspaces import FileHistory

from .command import Rewinder
from .config import CheckpointsConfig
from .errors import CheckpointError, TooLarge
from .file_history import CheckpointHistory
from .git import FIX, missing_git
from .git_index import unsaved
from .snapshot import has_all_of
from .snapshot_manager import MAX_PACKS, NAMED, Chat, SnapshotManager
from .texts import title_of, undo_hint
from .turn_folders import (
    CallRecorder,
    FolderCall,
    SavedFolder,
    TurnFolders,
    allowed_around,
    folders_of,
    named_paths,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .snapshot import Present

PRUNE_INTERVAL = 3600.0
NO_GIT = (
    "No files can be restored: {}. {} The conversation alone goes back with /undo, or /undo N for "
    "the last N turns; files stay."
)
MAX_TURNS = 200
"""Turns whose folders are remembered; a turn that fails may leave them behind."""
_HOLD_TIMEOUT = 4.0
"""Seconds that a guard waits for a snapshot; its hook has five."""


class Checkpoints(Plugin[CheckpointsConfig]):
    "Saves your folder before a turn first changes it, so that you can go back."

    _snapshots: SnapshotManager
    _recorder: CallRecorder

    _has_git: bool | None = None
    """Whether git is installed and new enough; None before the first check."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``Checkpoints``."""
        self._snapshots = SnapshotManager(host.home, self.config)
        self._recorder = CallRecorder(self._snapshots)
        self._turns: OrderedDict[str, TurnFolders] = OrderedDict()
        host.services.provide(CheckpointService, self)
        host.services.provide(FileHistory, CheckpointHistory(self._snapshots, host.now))
        host.signals.connect("undone", self._undone)

    # The service

    async def hold(self, ctx: Context, place: Path | None = None, *, history: bool = False) -> bool:
        """Save the workspace now; return whether the snapshot includes every file that git tracks.
        With ``place``, the folder around it is saved and must include all of ``place``. With
        ``history``, the histories of the repositories must be kept too."""
        folder = ctx.paths.workspace if place is None else allowed_around(ctx, str(place))
        if folder is None or not await self._can_save(folder):
            return False
        try:
            async with asyncio.timeout(_HOLD_TIMEOUT):
                present, ref = await self._take(ctx, folder)
                turn = self._turn(ctx)
                turn.tried.add(folder)
                saved = turn.saved.setdefault(folder, SavedFolder(folder, present))
                saved.refs.append(ref)
                if history and not await self._are_histories_kept(present, folder, ref):
                    return False
            if place is not None:
                return has_all_of(present, place, folder)
            return not await asyncio.to_thread(unsaved, folder, present.files, present.skipped)
        except (TimeoutError, CheckpointError, OSError) as error:
            self.log.info("cannot save %s before the call: %s", folder, error or "it took too long")
            return False

    async def changes(self, ctx: Context) -> str:
        """Return what has changed since the last checkpoint of the chat."""
        if missing := await missing_git(self.host.home):
            return NO_GIT.format(missing, FIX)
        try:
            return await Rewinder(self._snapshots, ctx).changes_since_last()
        except TimeoutError:
            return "That took too long and was aborted."
        except (CheckpointError, OSError) as error:
            return str(error)

    async def _are_histories_kept(self, present: Present, folder: Path, ref: str) -> bool:
        """Keep the histories of the folder's repositories now; False if one is not kept."""
        now = self.host.now()
        if self._snapshots.is_history_given_up(folder, now):
            return False
        reason = await self._snapshots.keep_histories(present, folder, ref, now)
        if reason:
            self.log.info("before the call: %s", reason)
        return not reason

    def _turn(self, ctx: Context) -> TurnFolders:
        """Return the folders of the turn, also for a context of another plugin."""
        found = self._turns.setdefault(ctx.turn.id, TurnFolders())
        self._turns.move_to_end(ctx.turn.id)
        while len(self._turns) > MAX_TURNS:
            self._turns.popitem(last=False)
        return found

    async def _can_save(self, folder: Path) -> bool:
        if self._has_git is None:
            missing = await missing_git(self.host.home)
            self._has_git = not missing
            if missing:
                self.log.info("checkpoints are off: %s", missing)
        return self._has_git and not self._snapshots.is_given_up(folder, self.host.now())

    async def _take(
        self, ctx: Context, folder: Path, named: Iterable[str] = (), kind: str = ""
    ) -> tuple[Present, str]:
        """Take a snapshot that includes the files ``named`` even if they are ignored; return it and
        its ref. Raises ``CheckpointError`` and ``OSError``."""
        about = {"title": title_of(ctx.turn.inbound.text), "kind": kind}
        about |= {"turn": ctx.turn.id, "session": ctx.session.id}
        chat = Chat(ctx.session.channel, ctx.session.chat_id)
        scope = self._snapshots.scope(folder, ctx.paths)
        async with self._snapshots.holding(folder):
            present, label = await self._snapshots.save(scope, chat, ctx.host.now(), about, named)
        return present, label.ref

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

    # Around a write

    @hookimpl
    def around_tool(
        self, ctx: Context, call: ToolCall
    ) -> Callable[[ToolCall, Callable[[ToolCall], Awaitable[ToolResult]]], Any] | None:
        """Save the folder before a tool that may write, and record what the tool changes."""
        if ctx.tool is None or ctx.tool.read_only:
            return None

        async def save_and_call(
            call: ToolCall, call_next: Callable[[ToolCall], Awaitable[ToolResult]]
        ) -> ToolResult:
            running: list[FolderCall] = []
            try:
                running = await self._before_write(ctx, call)
            except Exception as error:  # no error here stops the turn
                self._notify_once(ctx, f"No checkpoint was taken: {error or type(error).__name__}")
            try:
                return await call_next(call)
            finally:
                await self._after_write(ctx, running)

        return save_and_call

    async def _before_write(self, ctx: Context, call: ToolCall) -> list[FolderCall]:
        turn = self._turn(ctx)
        running = []
        for folder in dict.fromkeys((*folders_of(ctx, call), *turn.saved)):
            named = await asyncio.to_thread(named_paths, ctx, call, folder)
            if folder not in turn.tried:
                turn.tried.add(folder)
                saved = await self._first_of_turn(ctx, folder, named)
            else:
                saved = await self._see_again(ctx, turn.saved.get(folder), named)
            if saved is not None:
                turn.saved[folder] = saved
                await self._keep_histories(ctx, saved)
                running.append(await self._recorder.begin(ctx, saved, named))
        return running

    async def _first_of_turn(
        self, ctx: Context, folder: Path, named: Sequence[str]
    ) -> SavedFolder | None:
        """Save the folder before the turn's first call, if that is possible."""
        saved = await self._save(ctx, folder, named) if await self._can_save(folder) else None
        if saved is None and self._has_git:
            await self._recorder.mark(ctx, folder, named)
        return saved

    async def _see_again(
        self, ctx: Context, saved: SavedFolder | None, named: Sequence[str]
    ) -> SavedFolder | None:
        """See what changed since the turn's last call, and save ignored files that are named."""
        if saved is None:
            return None
        try:
            async with asyncio.timeout(self.config.timeout_seconds):
                new = await self._recorder.look(ctx, saved, named)
                if new:
                    await self._take(ctx, saved.path, new, NAMED)
        except (TimeoutError, CheckpointError, OSError) as error:
            self.log.warning("cannot tell what changes in %s: %s", saved.path, error)
            await self._recorder.mark(ctx, saved.path, named)
            return None
        return saved

    async def _keep_histories(self, ctx: Context, saved: SavedFolder) -> None:
        """Keep the histories of the folder's repositories for the snapshots of this turn."""
        refs, saved.refs = saved.refs, []
        for ref in refs:
            try:
                reason = await self._snapshots.keep_histories(
                    saved.present, saved.path, ref, ctx.host.now()
                )
            except (CheckpointError, OSError) as error:
                reason = f"The history of the repository is not kept: {error}."
            if reason:
                self._notify_once(ctx, f"{reason} It cannot be restored after this turn.")

    async def _after_write(self, ctx: Context, running: Sequence[FolderCall]) -> None:
        """Record what the call changed. If that fails, its record stays unfinished."""
        for call in running:
            try:
                async with asyncio.timeout(self.config.timeout_seconds):
                    await self._recorder.end(ctx, call)
            except Exception as error:  # the call has been made, whatever happens here
                what = error or type(error).__name__
                self.log.warning("cannot tell what changed in %s: %s", call.folder.path, what)

    async def _save(self, ctx: Context, folder: Path, named: Sequence[str]) -> SavedFolder | None:
        """Take the turn's snapshot of ``folder``; tell the person if it fails."""
        seconds = self.config.timeout_seconds
        reason = ""
        try:
            async with asyncio.timeout(seconds):
                present, ref = await self._take(ctx, folder, named)
            return SavedFolder(folder, present, named=set(named), refs=[ref])
        except TimeoutError:
            reason = f"it took longer than {seconds:g} s"
        except TooLarge as error:
            reason = str(error).rstrip(".")
        except (CheckpointError, OSError) as error:
            reason = str(error).rstrip(".")
            self._notify_once(
                ctx, f"No checkpoint of {folder}: {reason}. Changes now cannot be rewound."
            )
            return await self._recorder.unsaved(ctx, folder, named)
        self._snapshots.give_up(folder, self.host.now())
        self._notify_once(
            ctx,
            f"No checkpoint of {folder}: {reason}. It is not tried again for a day; "
            "changes until then cannot be rewound.",
        )
        return None

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
        saved = self._turns.pop(turn.id, None)
        if saved is not None and saved.tried:
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
