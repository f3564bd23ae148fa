"""The plugin ``otel``: connects the hooks with telemetry, and imports the SDK when needed."""

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
from hookline_hookspecs.optional_services import TextRedaction

from .config import OtelConfig

if TYPE_CHECKING:
    from hookline_hookspecs import ModelResponse, ToolResult
    from hookline_hookspecs.hooks.turn import CallModel, CallTool, ModelMiddleware, ToolMiddleware

    from .content import Content
    from .pipeline import ExportPipeline
    from .telemetry import TurnTelemetry


class Otel(Plugin[OtelConfig]):
    """Sends traces and metrics of turns; no turn waits for the collector."""

    _pipeline: ExportPipeline | None = None
    _telemetry: TurnTelemetry | None = None
    _starting: asyncio.Lock

    def open_pipeline(self) -> ExportPipeline:
        """Return the export pipeline; called once, in a thread, at the first turn."""
        from .pipeline import ExportPipeline

        return ExportPipeline(self.config, self.host.env, self.log)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Listen to compactions; the SDK is imported only at the first turn."""
        self._starting = asyncio.Lock()
        host.signals.connect("compacted", self._on_compacted)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check ``collector``."""

        async def run(offline: bool = False) -> CheckResult:
            from .collector_check import check

            return await check(self.config, self.host.env, offline=offline)

        register(Check("collector", run))

    @hookimpl(tryfirst=True)
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Start the span ``invoke_agent``."""
        if self._telemetry is None:
            async with self._starting:
                if self._telemetry is None:
                    self._telemetry = await asyncio.to_thread(self._open_telemetry)
        self._telemetry.begin(ctx, turn)

    def _open_telemetry(self) -> TurnTelemetry:
        from .conventions import ConventionNames
        from .telemetry import TurnTelemetry

        self._pipeline = pipeline = self.open_pipeline()
        return TurnTelemetry(
            pipeline.tracer,
            pipeline.meter,
            ConventionNames(self.config.semconv),
            self._make_content(),
        )

    def _make_content(self) -> Content | None:
        """Return what encodes content; None if it is not sent."""
        from .content import Content

        if not self.config.content:
            return None
        redaction = self.host.services.get(TextRedaction)
        if redaction is None:
            return Content()
        redaction.redact("")  # the first call is slow; this is not the event loop
        return Content(redaction.redact)

    @hookimpl(trylast=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> ModelMiddleware | None:
        """Measure each request to a provider, inside fallbacks and retries."""
        telemetry = self._telemetry
        if telemetry is None:
            return None

        async def measure(request: ModelRequest, call_next: CallModel) -> ModelResponse:
            return await telemetry.request(ctx, request, call_next)

        return measure

    @hookimpl(trylast=True)
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware | None:
        """Measure the execution of an allowed call."""
        telemetry = self._telemetry
        if telemetry is None:
            return None

        async def measure(call: ToolCall, call_next: CallTool) -> ToolResult:
            return await telemetry.tool(ctx, call, call_next)

        return measure

    @hookimpl
    def on_error(self, ctx: Context, error: Failure) -> None:
        """Record the kind of the turn's error."""
        if self._telemetry is not None:
            self._telemetry.record_error(ctx, error.kind)

    @hookimpl(tryfirst=True)
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """End the span ``invoke_agent``."""
        if self._telemetry is not None:
            self._telemetry.end(turn)

    def _on_compacted(self, event: Compacted, **_: object) -> None:
        if self._telemetry is not None:
            self._telemetry.record_compaction(event.session)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Send pending telemetry, for at most two seconds."""
        if self._telemetry is not None:
            self._telemetry.close()
        if self._pipeline is not None:
            await asyncio.to_thread(self._pipeline.close)
