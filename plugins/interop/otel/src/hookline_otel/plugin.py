"""The plugin: which hooks it listens to, and when the SDK is imported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Check,
    CheckResult,
    Compacted,
    Context,
    Failure,
    Host,
    ModelRequest,
    Plugin,
    ToolCall,
    Turn,
    hookimpl,
)

from .config import OtelConfig

if TYPE_CHECKING:
    from hookline_hookspecs import ModelResponse, ToolResult
    from hookline_hookspecs.hooks.turn import CallModel, CallTool, ModelMiddleware, ToolMiddleware

    from .pipeline import Pipeline
    from .telemetry import Telemetry


class Otel(Plugin[OtelConfig]):
    """Sends traces and metrics of turns; nothing of a turn waits for the collector."""

    _pipeline: Pipeline | None = None
    _telemetry: Telemetry | None = None
    _starting: asyncio.Lock

    def open_pipeline(self) -> Pipeline:
        """Return what sends spans and values; called once, in a thread, when a turn begins."""
        from .pipeline import Pipeline

        return Pipeline(self.config, self.host.env, self.log)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Listen to compactions; the SDK is imported when the first turn begins."""
        self._starting = asyncio.Lock()
        host.signals.connect("compacted", self._compacted)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register ``collector``."""

        async def run(offline: bool = False) -> CheckResult:
            from .collector import check

            return await check(self.config, self.host.env, offline=offline)

        register(Check("collector", run))

    @hookimpl(tryfirst=True)
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Begin the span ``invoke_agent``."""
        if self._telemetry is None:
            async with self._starting:
                if self._telemetry is None:
                    self._telemetry = await asyncio.to_thread(self._open)
        self._telemetry.begin(ctx, turn)

    def _open(self) -> Telemetry:
        from .names import Names
        from .telemetry import Telemetry

        self._pipeline = pipeline = self.open_pipeline()
        return Telemetry(
            pipeline.tracer,
            pipeline.meter,
            Names(self.config.semconv),
            with_content=self.config.content,
        )

    @hookimpl(trylast=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> ModelMiddleware | None:
        """Measure the request as the provider gets it, within fallbacks and retries."""
        telemetry = self._telemetry
        if telemetry is None:
            return None

        async def measured(request: ModelRequest, call_next: CallModel) -> ModelResponse:
            return await telemetry.request(ctx, request, call_next)

        return measured

    @hookimpl(trylast=True)
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware | None:
        """Measure the execution of an allowed call."""
        telemetry = self._telemetry
        if telemetry is None:
            return None

        async def measured(call: ToolCall, call_next: CallTool) -> ToolResult:
            return await telemetry.tool(ctx, call, call_next)

        return measured

    @hookimpl
    def on_error(self, ctx: Context, error: Failure) -> None:
        """Note of what kind the turn's error is."""
        if self._telemetry is not None:
            self._telemetry.failed(ctx, error.kind)

    @hookimpl(tryfirst=True)
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """End the span ``invoke_agent``."""
        if self._telemetry is not None:
            self._telemetry.end(turn)

    def _compacted(self, event: Compacted, **_: object) -> None:
        if self._telemetry is not None:
            self._telemetry.compacted(event.session)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Send what waits, for at most two seconds."""
        if self._telemetry is not None:
            self._telemetry.close()
        if self._pipeline is not None:
            await asyncio.to_thread(self._pipeline.close)
