"""Spans and values of turns: what is measured, and what belongs under what."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Context,
    HooklineError,
    ModelRequest,
    ModelResponse,
    ProviderError,
    Session,
    ToolCall,
    ToolResult,
    Turn,
)
from opentelemetry.context import Context as SpanContext
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from . import content
from .names import Metric, Names

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallModel, CallTool

AGENT = "hookline"
OPEN = 500
"""Turns that are remembered until they end; a turn that never does is ended with the process."""
STASH = "turn"
"""The :class:`OpenTurn` in the stash of a turn."""
MCP = "mcp__"
NOWHERE = SpanContext()
"""No parent: the span begins a trace. The context that the process has is never used."""


@dataclass(slots=True)
class OpenTurn:
    """A turn that has begun. ``started`` is a value of ``time.perf_counter()``."""

    span: Span
    started: float = field(default_factory=time.perf_counter)
    requests: int = 0
    tools: int = 0
    error: str = ""


_tool: ContextVar[tuple[str, Span] | None] = ContextVar("hookline_otel_tool", default=None)
"""The session whose tool runs in this task, and the tool's span."""


class Telemetry:
    """Makes the spans and values of every turn of the process."""

    def __init__(self, tracer: Tracer, meter: Meter, names: Names, *, with_content: bool) -> None:
        """``with_content``: what was said is sent as well."""
        self._tracer = tracer
        self._names = names
        self._content = with_content
        self._open: OrderedDict[str, OpenTurn] = OrderedDict()
        self._compacted: set[str] = set()
        self._instruments: dict[str, Any] = {}
        self._record: dict[str, list[tuple[Any, Mapping[str, str]]]] = {
            key: [(self._instrument(meter, one), one.fixed) for one in metrics]
            for key, metrics in names.metrics.items()
        }

    def _instrument(self, meter: Meter, metric: Metric) -> Any:
        """What records values: one instrument for each name."""
        if metric.name not in self._instruments:
            if metric.bounds:
                made: Any = meter.create_histogram(
                    metric.name, metric.unit, explicit_bucket_boundaries_advisory=metric.bounds
                ).record
            else:
                made = meter.create_counter(metric.name, metric.unit).add
            self._instruments[metric.name] = made
        return self._instruments[metric.name]

    def _count(self, key: str, value: float, attributes: Mapping[str, Any]) -> None:
        for record, fixed in self._record.get(key, ()):
            record(value, {**attributes, **fixed})

    # Turns

    def begin(self, ctx: Context, turn: Turn) -> None:
        """A turn begins; that of a sub-agent under the tool that started it."""
        session = turn.session
        agent = _agent(session)
        provider = name = None
        with suppress(HooklineError):  # no model is configured: the turn will say so
            provider, _, name = ctx.model.partition("/")
        attributes = self._names.attributes(
            operation="invoke_agent",
            agent=agent,
            provider=provider,
            model=name,
            conversation=session.id,
            session=session.id,
            turn=turn.id,
            channel=ctx.channel,
        )
        if self._content:
            said = self._names.attributes(input_messages=_said("user", turn.inbound.text))
            attributes |= said
        parent = self._above(session)
        span = self._tracer.start_span(f"invoke_agent {agent}", parent, attributes=attributes)
        self._open[turn.id] = ctx.stash[STASH] = OpenTurn(span)
        if len(self._open) > OPEN:
            self._finish(self._open.popitem(last=False)[1], "lost")

    def _above(self, session: Session) -> SpanContext:
        tool = _tool.get()
        if tool is None or session.parent_id is None or tool[0] != session.parent_id:
            return NOWHERE
        return set_span_in_context(tool[1], NOWHERE)

    def failed(self, ctx: Context, kind: str) -> None:
        """The turn fails with an error of this kind."""
        opened: OpenTurn | None = ctx.stash.get(STASH)
        if opened is not None:
            opened.error = kind

    def end(self, turn: Turn) -> None:
        """A turn has ended."""
        opened = self._open.pop(turn.id, None)
        if opened is None:
            return
        if self._content:
            said = _said("assistant", turn.reply)
            opened.span.set_attributes(self._names.attributes(output_messages=said))
        opened.span.set_attributes(self._names.attributes(stop=turn.stop))
        if turn.stop in ("error", "budget"):
            opened.error = opened.error or turn.stop
        agent = _agent(turn.session)
        common = self._names.attributes(agent=agent, error=opened.error or None)
        self._count("turn_requests", opened.requests, self._names.attributes(agent=agent))
        self._count("turn_tools", opened.tools, self._names.attributes(agent=agent))
        self._count("turn_seconds", time.perf_counter() - opened.started, common)
        self._finish(opened, opened.error)

    def _finish(self, opened: OpenTurn, error: str) -> None:
        if error:
            self._mark(opened.span, error)
        opened.span.end()

    def close(self) -> None:
        """End every turn that is open: the process ends."""
        while self._open:
            self._finish(self._open.popitem()[1], "process_ended")

    def compacted(self, session: Session) -> None:
        """The history of a session was compacted; its next request says so."""
        self._compacted.add(session.id)

    def _parent(self, ctx: Context) -> tuple[SpanContext, OpenTurn | None]:
        """What a request or a tool of this turn belongs under."""
        opened: OpenTurn | None = ctx.stash.get(STASH)
        tool = _tool.get()
        if tool is not None and tool[0] == ctx.session.id:
            return set_span_in_context(tool[1], NOWHERE), opened
        return (set_span_in_context(opened.span, NOWHERE) if opened else NOWHERE), opened

    def _mark(self, span: Span, kind: str) -> None:
        span.set_attributes(self._names.attributes(error=kind))
        span.set_status(Status(StatusCode.ERROR))

    # Requests

    async def request(
        self, ctx: Context, request: ModelRequest, call_next: CallModel
    ) -> ModelResponse:
        """One request to a model, as the span ``chat MODEL``."""
        parent, opened = self._parent(ctx)
        if opened is not None and request.purpose == "turn":
            opened.requests += 1
        provider, _, model = request.model.partition("/")
        common = {"operation": "chat", "provider": provider, "model": model}
        span = self._tracer.start_span(
            f"chat {model}", parent, SpanKind.CLIENT, attributes=self._asked(ctx, request, common)
        )
        started = time.perf_counter()
        error: str | None = None
        try:
            response = await call_next(request)
            self._answered(span, response, common)
            return response
        except BaseException as failure:
            error = _kind(failure)
            self._mark(span, error)
            raise
        finally:
            seconds = time.perf_counter() - started
            self._count("model_seconds", seconds, self._names.attributes(**common, error=error))
            span.end()

    def _asked(
        self, ctx: Context, request: ModelRequest, common: Mapping[str, str]
    ) -> dict[str, Any]:
        session, params = ctx.session.id, request.params
        was_compacted = session in self._compacted and request.purpose == "turn"
        if was_compacted:
            self._compacted.discard(session)
        said: dict[str, Any] = {}
        if self._content:
            said["instructions"] = content.as_json([{"type": "text", "content": request.system}])
            said["input_messages"] = content.messages(request.messages)
        return self._names.attributes(
            **common,
            **said,
            conversation=session,
            session=session,
            max_tokens=params.get("max_tokens"),
            temperature=params.get("temperature"),
            stream=bool(params.get("stream", True)),
            compacted=was_compacted or None,
            purpose=request.purpose,
        )

    def _answered(self, span: Span, response: ModelResponse, common: Mapping[str, str]) -> None:
        usage, finish = response.usage, self._names.finish(response.stop)
        model = response.model.partition("/")[2] or response.model or None
        counts = {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "reasoning_tokens": usage.reasoning,
        }
        attributes = self._names.attributes(**counts, response_model=model, finish_reasons=[finish])
        if self._content:
            said = content.messages([response.message], finish)
            attributes |= self._names.attributes(output_messages=said)
        span.set_attributes(attributes)
        named = self._names.attributes(**common, response_model=model)
        for key, count in counts.items():
            if count:
                self._count(key, count, named)
        if usage.input or usage.output:
            self._count("request_input", usage.input, named)
            self._count("request_output", usage.output, named)

    # Tools

    async def tool(self, ctx: Context, call: ToolCall, call_next: CallTool) -> ToolResult:
        """One execution of a tool, as the span ``execute_tool NAME``."""
        parent, opened = self._parent(ctx)
        if opened is not None:
            opened.tools += 1
        session = ctx.session.id
        attributes = self._names.attributes(
            operation="execute_tool",
            tool=call.name,
            tool_call=call.id,
            tool_type="function",
            conversation=session,
            session=session,
        )
        if call.name.startswith(MCP):
            server = call.name.removeprefix(MCP).partition("__")[0]
            attributes |= self._names.attributes(mcp_method="tools/call", mcp_server=server)
        if self._content:
            said = content.as_json(call.arguments)
            attributes |= self._names.attributes(tool_arguments=said)
        span = self._tracer.start_span(f"execute_tool {call.name}", parent, attributes=attributes)
        token = _tool.set((session, span))
        started = time.perf_counter()
        error: str | None = None
        try:
            result = await call_next(call)
            if not result.ok:
                error = "denied" if result.text.startswith("Denied:") else "tool_error"
            if self._content:
                span.set_attributes(self._names.attributes(tool_result=content.text(result.text)))
            return result
        except BaseException as failure:
            error = _kind(failure)
            raise
        finally:
            _tool.reset(token)
            if error:
                self._mark(span, error)
            seconds = time.perf_counter() - started
            named = self._names.attributes(operation="execute_tool", tool=call.name, error=error)
            self._count("tool_seconds", seconds, named)
            span.end()


def _agent(session: Session) -> str:
    """The agent's name: a sub-agent, a review or scheduled work is named after its kind."""
    return AGENT if session.kind == "chat" else session.kind


def _kind(failure: BaseException) -> str:
    """A word for an error, of which there are few: never its text, which may hold what was said."""
    return failure.kind if isinstance(failure, ProviderError) else type(failure).__name__


def _said(role: str, text: str) -> str:
    return content.as_json([{"role": role, "parts": [{"type": "text", "content": text}]}])
