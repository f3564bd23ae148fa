"""Shows what Hookline does, in slash commands and on pages, and records turns while traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Check,
    Context,
    GatewayService,
    Host,
    Plugin,
    Route,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.open_chats import OpenChats
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from hookline_hookspecs.web import View

    from .failures import FailureLog
    from .open_chats import OpenChatRecords
    from .recorder import Recorder, Recording

PAGE = "web"
"""The channel of the web page. Its turns are always recorded, because the page shows them."""


class InspectConfig(BaseModel):
    """Limits for traces."""

    trace_turns: int = Field(
        200, ge=1, title="Traced turns kept", description="Maximum traced turns kept."
    )
    trace_bytes: int = Field(
        2_000_000,
        ge=10_000,
        title="Size of all traces (bytes)",
        description="Maximum bytes of all traces together.",
    )
    trace_steps: int = Field(
        1000,
        ge=10,
        title="Steps per traced turn",
        description="Maximum steps recorded of one turn.",
    )
    trace_chars: int = Field(
        300,
        ge=20,
        title="Length of reasons (characters)",
        description="Maximum characters kept of a reason.",
    )


class Inspect(Plugin[InspectConfig]):
    """Adds the commands and pages, and records turns."""

    needs_no_channel = False
    runs_turns = False
    _recorder: Recorder | None = None
    _failures: FailureLog
    _open_chats: OpenChatRecords

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the doctor's checks of core."""
        from .doctor_checks import core_checks

        for check in core_checks(self.host):
            register(check)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of sessions, prompt, traces, hooks and the doctor."""
        from .pages import register_all

        register_all(self.host, register)

    @command("/status", audience="everyone", immediate=True, category="Sessions")
    async def slash_status(self, ctx: Context, args: str) -> str:
        """Show the session, what is running, and what it cost."""
        from .slash_commands import status

        return await status(ctx)

    @command("/sessions", audience="everyone", category="Sessions")
    async def slash_sessions(self, ctx: Context, args: str) -> str:
        """List this chat's sessions."""
        from .slash_commands import sessions

        return await sessions(ctx)

    @command("/plugins", audience="everyone", immediate=True, category="Help")
    async def slash_plugins(self, ctx: Context, args: str) -> str:
        """List the plugins and whether they are on."""
        from .slash_commands import plugins

        return await plugins(ctx)

    @command("/usage", audience="everyone", aliases=("/cost",), category="Sessions")
    async def slash_usage(self, ctx: Context, args: str) -> str:
        """Show the tokens this session has used, and their cost."""
        from .usage import usage

        return await usage(ctx)

    @command("/context", audience="everyone", category="Sessions")
    async def slash_context(self, ctx: Context, args: str) -> str:
        """Show what fills the model's context window, in estimated tokens."""
        from .usage import context

        return await context(ctx)

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Store plugins' failures, list open chats, and record turns if tracing is on."""
        from .failures import FailureLog
        from .open_chats import OpenChatRecords

        self._open_chats = OpenChatRecords(host)
        host.services.provide(OpenChats, self._open_chats)
        self._failures = FailureLog(host)
        host.signals.connect("plugin_failed", self._failures.note)
        await self._failures.store()
        host.services.add(GatewayService, self)
        if host.config.trace:
            self._watch(None)

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """If the web page is on, offer it the view of turns and record its turns."""
        if PAGE in channels:
            from hookline_hookspecs.web import TurnViews

            self.host.services.add(TurnViews, self)
            if self._recorder is None:
                self._watch({PAGE})

    async def gateway_stopping(self) -> None:
        """Do nothing."""

    def _watch(self, channels: set[str] | None) -> None:
        from .recorder import Recorder

        config = self.config
        self._recorder = Recorder(config.trace_steps, config.trace_chars, channels)
        self.host.watch(self._recorder.observe)
        self.host.signals.connect("end_of_turn", self._store_late_steps)

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return a view of what happened in a turn."""
        from .pages.turn import TurnView

        return await TurnView(self.host).turn_view(session_id, turn_id)

    @hookimpl(tryfirst=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Store the trace before slower hooks run; their steps are added afterwards."""
        if self._recorder is not None:
            recording = self._recorder.ended(ctx)
            if recording is not None:
                try:
                    await self._store(recording)
                except BaseException:  # if the process is ending, `teardown` stores it
                    recording.unsaved = True
                    raise

    async def _store_late_steps(self, turn: Turn, ctx: Context) -> None:
        if self._recorder is not None:
            recording = self._recorder.close(turn.id)
            if recording is not None:
                await self._store(recording)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Store failures and traces that are not stored yet; no chat is open any more."""
        await self._open_chats.close_all()
        await self._failures.store()
        if self._recorder is not None:
            for recording in self._recorder.close_all():
                await self._store(recording)

    async def _store(self, recording: Recording) -> None:
        from .traces import store_trace
        from .tree import tree_of

        row = {
            "turn_id": recording.turn_id,
            "session_id": recording.session.id,
            "kind": recording.session.kind,
            "started": recording.at,
        }
        limits = (self.config.trace_turns, self.config.trace_bytes)
        await store_trace(self.host, row, tree_of(recording), *limits)
