"""What a collector receives of turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Context,
    Message,
    ModelRequest,
    ModelResponse,
    Plugin,
    Rewrite,
    TextBlock,
    Tool,
    ToolCall,
    ToolError,
    Usage,
    hookimpl,
    tool,
)
from hookline_hookspecs.secrets import ProcessFilter
from hookline_otel import Otel
from opentelemetry.trace import get_current_span

Make = Callable[..., Harness]
USED = Usage(input=1000, cache_read=600, cache_write=100, output=50, reasoning=20)
SECRET = "sk-quite-secret-0123456789"


class Work(Plugin):
    """Tools that work, fail and hand over."""

    @tool(read_only=True)
    def look(self, at: str = "", fail: bool = False) -> str:
        """Look."""
        if fail:
            raise ToolError("there is nothing to see")
        return f"seen {at}"

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Let a sub-agent work."""
        return (await self.host.run_turn("work", parent=ctx)).reply


def test_span_of_a_tool_is_current_while_it_runs(traced: Make, collector: Any) -> None:
    seen: list[str] = []

    class Calling(Plugin):
        @tool
        async def call_a_server(self) -> str:
            """Call."""
            seen.append(f"{get_current_span().get_span_context().span_id:016x}")
            return "called"

    harness = traced(Calling)
    harness.model.steps += [calls("call_a_server"), "done"]
    harness.send("go")
    harness.close()
    assert seen == [collector.one("execute_tool call_a_server").id]
    assert not get_current_span().get_span_context().is_valid


def test_turn_is_one_trace_of_requests_and_tools(traced: Make, collector: Any) -> None:
    harness = traced(Work)
    harness.model.steps += [
        calls("look", at="home"),
        ModelResponse((TextBlock("done"),), "end", USED),
    ]
    session = harness.send("look").turn.session.id
    harness.close()
    turn = collector.one("invoke_agent hookline")
    first, second = collector.named("chat " + _model(collector))
    look = collector.one("execute_tool look")
    assert collector.service == "hookline"
    assert not turn.parent
    assert {one.parent for one in (first, second, look)} == {turn.id}
    assert {one.trace for one in collector.spans} == {turn.trace}
    for span in collector.spans:
        assert span.attributes["gen_ai.conversation.id"] == session
        assert span.attributes["session.id"] == session
        assert not span.failed
    assert first.attributes["gen_ai.response.finish_reasons"] == ["tool_call"]
    assert second.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert second.attributes["gen_ai.usage.input_tokens"] == 1000
    assert second.attributes["gen_ai.usage.output_tokens"] == 50
    assert second.attributes["gen_ai.usage.cache_read.input_tokens"] == 600
    assert second.attributes["gen_ai.usage.cache_write.input_tokens"] == 100
    assert second.attributes["gen_ai.usage.reasoning.output_tokens"] == 20
    assert look.attributes["gen_ai.tool.name"] == "look"
    assert look.attributes["gen_ai.operation.name"] == "execute_tool"
    assert turn.attributes["hookline.stop"] == "done"
    assert _sum(collector, "gen_ai.client.inference.usage.cache_read.input_tokens") == 600
    assert _sum(collector, "gen_ai.client.inference.usage.output_tokens") >= 50
    assert collector.values["gen_ai.client.inference.duration"][0][1].count == 2
    assert collector.values["gen_ai.invoke_agent.inference_calls"][0][1].sum == 2
    assert collector.values["gen_ai.invoke_agent.tool_calls"][0][1].sum == 1
    assert collector.values["gen_ai.execute_tool.duration"][0][1].count == 1


def test_sub_agent_span_is_under_its_tool_span(traced: Make, collector: Any) -> None:
    harness = traced(Work)
    harness.model.steps += [calls("hand_over"), calls("look"), "found", "all done", "again"]
    harness.send("let somebody look")
    harness.send("and again")
    harness.close()
    first, second = collector.named("invoke_agent hookline")
    sub, tool_span = collector.one("invoke_agent agent"), collector.one("execute_tool hand_over")
    assert sub.parent == tool_span.id
    assert tool_span.parent == first.id
    assert collector.one("execute_tool look").parent == sub.id
    assert sub.attributes["session.id"] != first.attributes["session.id"]
    assert second.trace != first.trace
    assert {one.trace for one in collector.spans} == {first.trace, second.trace}


def test_failures_are_marked_only_by_their_kind(traced: Make, collector: Any) -> None:
    from hookline_hookspecs import RateLimited

    harness = traced(Work)
    harness.model.steps += [calls("look", fail=True), RateLimited("too many for Ada Lovelace")]
    harness.send("look")
    harness.close()
    look, turn = collector.one("execute_tool look"), collector.one("invoke_agent hookline")
    failed = [one for one in collector.spans if one.name.startswith("chat ") and one.failed]
    assert look.failed
    assert look.attributes["error.type"] == "tool_error"
    assert [one.attributes["error.type"] for one in failed] == ["rate"]
    assert turn.failed
    assert turn.attributes["error.type"] == "rate"
    assert b"Lovelace" not in collector.bodies
    assert b"nothing to see" not in collector.bodies


def test_content_is_not_sent_by_default(traced: Make, collector: Any) -> None:
    harness = traced(Work)
    harness.model.steps += [calls("look", at="the garden"), "the answer"]
    harness.send("my question")
    harness.close()
    assert collector.one("execute_tool look")
    for said in (b"my question", b"the garden", b"the answer"):
        assert said not in collector.bodies


def test_content_is_sent_if_configured(traced: Make, collector: Any) -> None:
    harness = traced(Work, content=True)
    harness.model.steps += [calls("look", at="gar\ud800den"), "the answer"]
    harness.send("my question")
    harness.close()
    look, turn = collector.one("execute_tool look"), collector.one("invoke_agent hookline")
    assert look.attributes["gen_ai.tool.call.arguments"].startswith('{"at": "gar')
    assert look.attributes["gen_ai.tool.call.result"].startswith("seen gar")
    assert "my question" in turn.attributes["gen_ai.input.messages"]
    assert "the answer" in turn.attributes["gen_ai.output.messages"]
    last = collector.named("chat " + _model(collector))[1].attributes
    assert '"tool_call_response"' in last["gen_ai.input.messages"]
    assert '"finish_reason": "stop"' in last["gen_ai.output.messages"]


@pytest.mark.parametrize("semconv", [1.41, "both"])
def test_names_follow_the_configured_version(traced: Make, collector: Any, semconv: Any) -> None:
    harness = traced(semconv=semconv)
    harness.model.steps.append(ModelResponse((TextBlock("done"),), "end", USED))
    harness.send("hello")
    harness.close()
    sent = collector.one("chat " + _model(collector)).attributes
    assert sent["gen_ai.usage.cache_creation.input_tokens"] == 100
    assert ("gen_ai.usage.cache_write.input_tokens" in sent) == (semconv == "both")
    assert ("gen_ai.client.inference.duration" in collector.values) == (semconv == "both")
    used = {a["gen_ai.token.type"]: p.sum for a, p in collector.values["gen_ai.client.token.usage"]}
    assert used == {"input": 1000, "output": 50}
    assert collector.values["gen_ai.client.operation.duration"][0][1].count == 1


def test_global_otel_providers_are_left_alone(traced: Make, collector: Any) -> None:
    from opentelemetry import trace

    before = trace.get_tracer_provider()
    harness = traced()
    harness.model.steps.append("hi")
    harness.send("hello")
    with trace.get_tracer("somebody's own").start_as_current_span("not ours"):
        harness.model.steps.append("hi")
        harness.send("hello")
    harness.close()
    assert trace.get_tracer_provider() is before
    assert not collector.named("not ours")
    assert [one.parent for one in collector.named("invoke_agent hookline")] == ["", ""]


def _model(collector: Any) -> str:
    return next(one.name for one in collector.spans if one.name.startswith("chat "))[5:]


def _sum(collector: Any, name: str) -> int:
    return sum(point.as_int for _, point in collector.values[name])


def test_config_secrets_are_masked_in_content(traced: Make, collector: Any) -> None:
    held = ProcessFilter()
    held.hide(SECRET)
    harness = traced(Work, content=True)
    harness.model.steps += [calls("look", at=f'"{SECRET}"'), f"it is {SECRET}"]
    harness.send(f"is it {SECRET}?")
    harness.close()
    assert collector.one("execute_tool look").attributes["gen_ai.tool.call.arguments"]
    assert SECRET.encode() not in collector.bodies


def test_tokens_and_addresses_in_content_are_redacted(traced: Make, collector: Any) -> None:
    token, address = "ghp_" + "a1B2" * 9, "ada.lovelace@example.org"
    redact = pytest.importorskip("hookline_redact")
    harness = traced(Work, redact.Redact, content=True)
    harness.model.steps += [calls("look", at=f"{token} {address}"), f"sent to {address}"]
    harness.send(f"use {token} and write to {address}")
    harness.close()
    turn = collector.one("invoke_agent hookline")
    assert "and write to" in turn.attributes["gen_ai.input.messages"]
    for said in (token, address):
        assert said.encode() not in collector.bodies


def test_tools_of_mcp_servers_name_the_server(traced: Make, collector: Any) -> None:
    class Server(Plugin):
        @hookimpl
        def register_tools(self, register: Callable[[Tool], None]) -> None:
            async def play(piece: str) -> str:
                """Play."""
                return piece

            register(replace(Tool.from_function(play), name="mcp__jukebox__play"))

    harness = traced(Server)
    harness.model.steps += [calls("mcp__jukebox__play", piece="a waltz"), "done"]
    harness.send("play")
    harness.close()
    found = collector.one("execute_tool mcp__jukebox__play").attributes
    assert found["mcp.method.name"] == "tools/call"
    assert found["hookline.mcp.server"] == "jukebox"


def test_request_after_compaction_is_marked(traced: Make, collector: Any) -> None:
    class Squeeze(Plugin):
        @hookimpl
        async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
            if ctx.turn.inbound.text != "again":
                return None
            found = await ctx.rewrite([Rewrite(0, 2, (Message.user("before"),))])
            return replace(request, messages=found)

    harness = traced(Squeeze)
    for text in ("one", "again", "three"):
        harness.model.steps.append("answer")
        harness.send(text)
    harness.close()
    values = [
        one.attributes.get("gen_ai.conversation.compacted")
        for one in collector.named("chat " + _model(collector))
    ]
    assert values == [None, True, None]


def test_parallel_tool_spans_are_under_their_turn(traced: Make, collector: Any) -> None:
    harness = traced(Work)
    both = [ToolCall(str(number), "look", {"at": str(number)}) for number in range(5)]
    harness.model.steps += [ModelResponse(tuple(both), "tools"), "done"]
    harness.send("look everywhere")
    harness.close()
    turn = collector.one("invoke_agent hookline")
    looks = collector.named("execute_tool look")
    assert {one.attributes["gen_ai.tool.call.id"] for one in looks} == {"0", "1", "2", "3", "4"}
    assert {one.parent for one in looks} == {turn.id}


def test_model_request_of_tool_is_under_the_tool(traced: Make, collector: Any) -> None:
    class Asking(Plugin):
        @tool
        async def wonder(self, ctx: Context) -> str:
            """Ask."""
            return await ctx.ask_model("why?")

    harness = traced(Asking)
    harness.model.steps += [calls("wonder"), "because", "done"]
    harness.send("wonder")
    harness.close()
    wonder = collector.one("execute_tool wonder")
    below = [one for one in collector.spans if one.parent == wonder.id]
    assert [one.attributes["hookline.request.purpose"] for one in below] == ["auxiliary"]


def test_spans_and_metrics_reach_other_exporters(harness: Make) -> None:
    """A program that embeds Hookline can put exporters of its own in place of OTLP."""
    from hookline_otel.pipeline import ExportPipeline
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, values = InMemorySpanExporter(), InMemoryMetricReader()

    class Kept(Otel):
        def open_pipeline(self) -> ExportPipeline:
            return ExportPipeline(self.config, {}, self.log, spans=spans, metrics=values)

    made = harness(Kept)
    made.model.steps.append("hi")
    made.send("hello")
    assert values.get_metrics_data() is not None
    made.close()
    names = [one.name for one in spans.get_finished_spans()]
    assert names[-1] == "invoke_agent hookline"
    assert len(names) == 2
