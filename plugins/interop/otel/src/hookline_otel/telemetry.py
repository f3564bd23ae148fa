"""Creates the spans and metrics of turns, requests and tools."""

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
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    set_span_in_context,
    use_span,
)

from .content import Content
from .conventions import ConventionNames, MetricName

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallModel, CallTool

AGENT_NAME = "hookline"
MAX_OPEN_TURNS = 500
"""Turns with an open span; the oldest span is closed when there are more."""
OPEN_TURN_KEY = "turn"
"""Key of the :class:`OpenTurn` in a turn's stash."""
MCP_PREFIX = "mcp__"
NO_PARENT = SpanContext()
"""No parent: the span starts a trace. The process's current context is never the parent."""


@dataclass(slots=True)
class OpenTurn:
    """A running turn. ``started`` is a value of ``time.perf_counter()``."""

    span: Span
    started: float = field(default_factory=time.perf_counter)
    requests: int = 0
    tools: int = 0
    error: str = ""


_tool: ContextVar[tuple[str, Span] | None] = ContextVar("hookline_otel_tool", default=None)
"""The session whose tool is running in this task, and the tool's span."""


class TurnTelemetry:
    """Creates the spans and metrics of all turns in the process."""

    def __init__(
        self, tracer: Tracer, meter: Meter, names: ConventionNames, content: Content | None
    ) -> None:
        """``content`` encodes messages, arguments and results; with None they are not sent."""
        self._tracer = tracer
        self._names = names
        self._content = content
        self._open: OrderedDict[str, OpenTurn] = OrderedDict()
        self._compacted: set[str] = set()
        self._instruments: dict[str, Any] = {}
        self._record: dict[str, list[tuple[Any, Mapping[str, str]]]] = {
            key: [(self._instrument(meter, one), one.fixed) for one in metrics]
            for key, metrics in names.metrics.items()
        }

    def _instrument(self, meter: Meter, metric: MetricName) -> Any:
        """Return the function that records values, one per instrument name."""
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

    def begin(self, ctx: Context, turn: Turn) -> None:
        """Start a turn's span; a sub-agent's is a child of the tool that started it."""
        session = turn.session
        agent = _agent_name(session)
        provider = name = None
        with suppress(HooklineError):  # without a model the turn itself reports the error
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
            attributes |= self._names.attributes(
                input_messages=self._content.message("user", turn.inbound.text)
            )
        parent = self._parent_of_turn(session)
        span = self._tracer.start_span(f"invoke_agent {agent}", parent, attributes=attributes)
        self._open[turn.id] = ctx.stash[OPEN_TURN_KEY] = OpenTurn(span)
        if len(self._open) > MAX_OPEN_TURNS:
            self._finish(self._open.popitem(last=False)[1], "lost")

    def _parent_of_turn(self, session: Session) -> SpanContext:
        tool = _tool.get()
        if tool is None or session.parent_id is None or tool[0] != session.parent_id:
            return NO_PARENT
        return set_span_in_context(tool[1], NO_PARENT)

    def record_error(self, ctx: Context, kind: str) -> None:
        """Record that the turn fails with an error of this kind."""
        opened: OpenTurn | None = ctx.stash.get(OPEN_TURN_KEY)
        if opened is not None:
            opened.error = kind

    def end(self, turn: Turn) -> None:
        """End a turn's span and record its metrics."""
        opened = self._open.pop(turn.id, None)
        if opened is None:
            return
        if self._content:
            answer = self._content.message("assistant", turn.reply)
            opened.span.set_attributes(self._names.attributes(output_messages=answer))
        opened.span.set_attributes(self._names.attributes(stop=turn.stop))
        if turn.stop in ("error", "budget"):
            opened.error = opened.error or turn.stop
        agent = _agent_name(turn.session)
        common = self._names.attributes(agent=agent, error=opened.error or None)
        self._count("turn_requests", opened.requests, self._names.attributes(agent=agent))
        self._count("turn_tools", opened.tools, self._names.attributes(agent=agent))
        self._count("turn_seconds", time.perf_counter() - opened.started, common)
        self._finish(opened, opened.error)

    def _finish(self, opened: OpenTurn, error: str) -> None:
        if error:
            self._mark_error(opened.span, error)
        opened.span.end()

    def close(self) -> None:
        """End the spans of all open turns, because the process ends."""
        while self._open:
            self._finish(self._open.popitem()[1], "process_ended")

    def record_compaction(self, session: Session) -> None:
        """Remember that a session was compacted, for the attributes of its next request."""
        self._compacted.add(session.id)

    def _parent(self, ctx: Context) -> tuple[SpanContext, OpenTurn | None]:
        """Return the parent of a span in this turn, and the turn."""
        opened: OpenTurn | None = ctx.stash.get(OPEN_TURN_KEY)
        tool = _tool.get()
        if tool is not None and tool[0] == ctx.session.id:
            return set_span_in_context(tool[1], NO_PARENT), opened
        return (set_span_in_context(opened.span, NO_PARENT) if opened else NO_PARENT), opened

    def _mark_error(self, span: Span, kind: str) -> None:
        span.set_attributes(self._names.attributes(error=kind))
        span.set_status(Status(StatusCode.ERROR))

    async def request(
        self, ctx: Context, request: ModelRequest, call_next: CallModel
    ) -> ModelResponse:
        """Measure one request to a model as the span ``chat MODEL``."""
        parent, opened = self._parent(ctx)
        if opened is not None and request.purpose == "turn":
            opened.requests += 1
        provider, _, model = request.model.partition("/")
        common = {"operation": "chat", "provider": provider, "model": model}
        span = self._tracer.start_span(
            f"chat {model}",
            parent,
            SpanKind.CLIENT,
            attributes=self._request_attributes(ctx, request, common),
        )
        started = time.perf_counter()
        error: str | None = None
        try:
            response = await call_next(request)
            self._record_response(span, response, common)
            return response
        except BaseException as failure:
            error = _error_kind(failure)
            self._mark_error(span, error)
            raise
        finally:
            seconds = time.perf_counter() - started
            self._count("model_seconds", seconds, self._names.attributes(**common, error=error))
            span.end()

    def _request_attributes(
        self, ctx: Context, request: ModelRequest, common: Mapping[str, str]
    ) -> dict[str, Any]:
        session = ctx.session.id
        params = request.params
        was_compacted = session in self._compacted and request.purpose == "turn"
        if was_compacted:
            self._compacted.discard(session)
        text_attributes: dict[str, Any] = {}
        if self._content:
            text_attributes["instructions"] = self._content.to_json(
                [{"type": "text", "content": request.system}]
            )
            text_attributes["input_messages"] = self._content.messages(request.messages)
        return self._names.attributes(
            **common,
            **text_attributes,
            conversation=session,
            session=session,
            max_tokens=params.get("max_tokens"),
            temperature=params.get("temperature"),
            stream=bool(params.get("stream", True)),
            compacted=was_compacted or None,
            purpose=request.purpose,
        )

    def _record_response(
        self, span: Span, response: ModelResponse, common: Mapping[str, str]
    ) -> None:
        usage = response.usage
        finish = self._names.finish(response.stop)
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
            answer = self._content.messages([response.message], finish)
            attributes |= self._names.attributes(output_messages=answer)
        span.set_attributes(attributes)
        named = self._names.attributes(**common, response_model=model)
        for key, count in counts.items():
            if count:
                self._count(key, count, named)
        if usage.input or usage.output:
            self._count("request_input", usage.input, named)
            self._count("request_output", usage.output, named)

    async def tool(self, ctx: Context, call: ToolCall, call_next: CallTool) -> ToolResult:
        """Measure one tool execution as the span ``execute_tool NAME``.

        The span is current while the tool runs, so that what the tool calls can continue its trace:
        MCP servers receive it as ``traceparent``.
        """
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
        if call.name.startswith(MCP_PREFIX):
            server = call.name.removeprefix(MCP_PREFIX).partition("__")[0]
            attributes |= self._names.attributes(mcp_method="tools/call", mcp_server=server)
        if self._content:
            arguments = self._content.to_json(call.arguments)
            attributes |= self._names.attributes(tool_arguments=arguments)
        span = self._tracer.start_span(f"execute_tool {call.name}", parent, attributes=attributes)
        token = _tool.set((session, span))
        started = time.perf_counter()
        error: str | None = None
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                result = await call_next(call)
            if not result.ok:
                error = "denied" if result.text.startswith("Denied:") else "tool_error"
            if self._content:
                span.set_attributes(
                    self._names.attributes(tool_result=self._content.limit_text(result.text))
                )
            return result
        except BaseException as failure:
            error = _error_kind(failure)
            raise
        finally:
            _tool.reset(token)
            if error:
                self._mark_error(span, error)
            seconds = time.perf_counter() - started
            named = self._names.attributes(operation="execute_tool", tool=call.name, error=error)
            self._count("tool_seconds", seconds, named)
            span.end()


def _agent_name(session: Session) -> str:
    """Return the agent's name; other sessions than chats are named after their kind."""
    return AGENT_NAME if session.kind == "chat" else session.kind


def _error_kind(failure: BaseException) -> str:
    """Return an error's kind, never its text, which may quote messages."""
    return failure.kind if isinstance(failure, ProviderError) else type(failure).__name__
