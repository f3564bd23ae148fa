"""Everything that shows what Hookline does: hooks, prompt, plugins, sessions, usage, traces.

The commands are in ``commands``. Turns are recorded in
``recorder`` where tracing is on, and those of the web page in a gateway that has it; where neither
is so nothing is watched.
"""

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
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from hookline_hookspecs.web import View

    from .failures import FailureLog
    from .recorder import Recorder, Recording

__all__ = ["Inspect"]
PAGE = "web"
"""The channel of the page, whose turns are recorded without tracing too: there is a place to look
at them."""


class InspectConfig(BaseModel):
    """How much is kept of traces."""

    trace_turns: int = Field(200, ge=1, description="traced turns that are kept")
    trace_bytes: int = Field(2_000_000, ge=10_000, description="bytes of all traces together")
    trace_steps: int = Field(1000, ge=10, description="steps of one turn that are recorded")
    trace_chars: int = Field(300, ge=20, description="characters of a reason that are kept")


class Inspect(Plugin[InspectConfig]):
    """Adds the commands that show, and records turns where tracing is on."""

    needs_no_channel = False
    runs_turns = False
    _recorder: Recorder | None = None
    _failures: FailureLog

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """The doctor's checks of core's own affairs."""
        from .checks import core_checks

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
        from .slash import status

        return await status(ctx)

    @command("/sessions", audience="everyone", category="Sessions")
    async def slash_sessions(self, ctx: Context, args: str) -> str:
        """List this chat's sessions."""
        from .slash import sessions

        return await sessions(ctx)

    @command("/plugins", audience="everyone", immediate=True, category="Help")
    async def slash_plugins(self, ctx: Context, args: str) -> str:
        """List the plugins and their states."""
        from .slash import plugins

        return await plugins(ctx)

    @command("/usage", audience="everyone", category="Sessions")
    async def slash_usage(self, ctx: Context, args: str) -> str:
        """Show the tokens this session has used, and what its input cost."""
        from .usage import usage

        return await usage(ctx)

    @command("/context", audience="everyone", category="Sessions")
    async def slash_context(self, ctx: Context, args: str) -> str:
        """Show what fills the model's window, in estimated tokens."""
        from .usage import context

        return await context(ctx)

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Keep plugins' failures, and watch every step where tracing is on."""
        from .failures import FailureLog

        self._failures = FailureLog(host)
        host.signals.connect("plugin_failed", self._failures.note)
        await self._failures.keep()
        host.services.add(GatewayService, self)
        if host.config.trace:
            self._watch(None)

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Where there is the page, show it turns, and record its own."""
        if PAGE in channels:
            from hookline_hookspecs.web import TurnViews

            self.host.services.add(TurnViews, self)
            if self._recorder is None:
                self._watch({PAGE})

    async def gateway_stopping(self) -> None:
        """Nothing is to be done."""

    def _watch(self, channels: set[str] | None) -> None:
        from .recorder import Recorder

        config = self.config
        self._recorder = Recorder(config.trace_steps, config.trace_chars, channels)
        self.host.watch(self._recorder.observe)
        self.host.signals.connect("end_of_turn", self._after_the_end)

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return what happened in a turn as a view."""
        from .pages.turn import TurnView

        return await TurnView(self.host).turn_view(session_id, turn_id)

    @hookimpl(tryfirst=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Keep the trace before what takes long; what follows is added after it."""
        if self._recorder is not None:
            recording = self._recorder.ended(ctx)
            if recording is not None:
                try:
                    await self._keep(recording)
                except BaseException:  # a process that ends keeps it in `teardown`
                    recording.unsaved = True
                    raise

    async def _after_the_end(self, turn: Turn, ctx: Context) -> None:
        if self._recorder is not None:
            recording = self._recorder.close(turn.id)
            if recording is not None:
                await self._keep(recording)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Keep what the end of the process would lose."""
        await self._failures.keep()
        if self._recorder is not None:
            for recording in self._recorder.close_all():
                await self._keep(recording)

    async def _keep(self, recording: Recording) -> None:
        from .traces import keep
        from .tree import tree_of

        row = {
            "turn_id": recording.turn_id,
            "session_id": recording.session.id,
            "kind": recording.session.kind,
            "started": recording.at,
        }
        limits = (self.config.trace_turns, self.config.trace_bytes)
        await keep(self.host, row, tree_of(recording), *limits)
