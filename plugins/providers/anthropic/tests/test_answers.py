"""Responses, streamed and whole, as neutral blocks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hookline_anthropic.response_reader import StreamReader, read_message
from hookline_hookspecs import Delta, TextBlock, ThinkingBlock, ToolCall, Usage
from hookline_providerkit import Limits
from hypothesis import given
from hypothesis import strategies as st
from support.anthropic_server import Reply, Use, seal

from .conftest import MakeTalk

BOTH = pytest.mark.parametrize("stream", [True, False])


@pytest.mark.slow
@BOTH
async def test_all_kinds_of_blocks_are_read(talk: MakeTalk, stream: bool) -> None:
    reply = Reply(
        text="Let me see.",
        thinking="Hm, well.",
        redacted="r",
        tools=(Use("look", {"at": "ü", "n": [1]}, "t1"), Use("wait", {}, "t2")),
        blocks=(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            {"type": "something_new", "data": {"a": 1}},
        ),
    )
    t = talk(reply, stream=stream)
    answer = await t.ask()
    assert answer.blocks == (
        ThinkingBlock("Hm, well.", seal("Hm, well.")),
        ThinkingBlock("", redacted=f"r|{seal('r')}"),
        TextBlock("Let me see."),
        ToolCall("t1", "look", {"at": "ü", "n": [1]}),
        ToolCall("t2", "wait", {}),
    )
    assert answer.stop == "tools"
    assert answer.model == "anthropic/claude-sonnet-4-5"


@pytest.mark.slow
async def test_streamed_text_is_shown_as_it_arrives(talk: MakeTalk) -> None:
    t = talk(Reply(text="one two", thinking="hm so"))
    await t.ask()
    assert t.shown == [
        Delta("hm ", "thinking"),
        Delta("so", "thinking"),
        Delta("one "),
        Delta("two"),
    ]


@pytest.mark.long
@BOTH
@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tools"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("model_context_window_exceeded", "context"),
        ("something_new", "end"),
    ],
)
async def test_stop_reasons_become_stops(
    talk: MakeTalk, reason: str, stop: str, stream: bool
) -> None:
    t = talk(Reply(text="x", stop=reason), stream=stream)
    assert (await t.ask()).stop == stop


@BOTH
async def test_response_without_a_stop_reason_is_incomplete(talk: MakeTalk, stream: bool) -> None:
    t = talk(Reply(text="half", ends=False), stream=stream)
    answer = await t.ask()
    assert (answer.text, answer.stop) == ("half", "incomplete")


@BOTH
async def test_usage_includes_the_cache(talk: MakeTalk, stream: bool) -> None:
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    t = talk(Reply(text="x", usage=usage), stream=stream)
    assert (await t.ask()).usage == Usage(125, 100, 20, 9, 4)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ('{"at": ', "not valid JSON"),
        ("[1]", "must be a JSON object"),
        ('"look"', "must be a JSON object"),
        ('{"at": NaN}', "not valid JSON"),
        ("[" * 5000, "not valid JSON"),
    ],
)
async def test_unreadable_arguments_are_an_error_of_the_call(
    talk: MakeTalk, raw: str, told: str
) -> None:
    t = talk(Reply(tools=(Use("look", raw=raw),)))
    (call,) = (await t.ask()).message.tool_calls
    assert (call.name, call.arguments) == ("look", {})
    assert told in str(call.error)


async def test_call_cut_off_by_the_token_limit_says_so(talk: MakeTalk) -> None:
    t = talk(Reply(tools=(Use("look", raw='{"at": "a long'),), stop="max_tokens"))
    (call,) = (await t.ask()).message.tool_calls
    assert "cut off" in str(call.error)


@BOTH
async def test_nameless_calls_and_bad_ids_are_repaired(talk: MakeTalk, stream: bool) -> None:
    uses = (Use("", id="t1"), Use("look", id=""), Use("look", id="t1"), Use("wait", id="t2"))
    t = talk(Reply(tools=uses), stream=stream)
    calls = (await t.ask()).message.tool_calls
    assert calls[0].error
    assert [call.error for call in calls[1:]] == [None] * 3
    ids = [call.id for call in calls]
    assert len(set(ids)) == 4
    assert all(ids)


async def test_response_that_is_not_streamed_is_read(talk: MakeTalk) -> None:
    message = {"content": [{"type": "text", "text": "whole"}], "stop_reason": "end_turn"}
    t = talk(Reply(body=json.dumps(message)))
    assert (await t.ask()).text == "whole"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "id", "name", "input", "thinking", "data", "signature"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["message_start", "message_delta", "content_block_start", "content_block_delta", "ping"]
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking", "new"])},
    optional={"text": ANY, "id": ANY, "name": ANY, "input": ANY, "thinking": ANY, "data": ANY},
)
DELTA = st.fixed_dictionaries(
    {"type": st.sampled_from(["text_delta", "input_json_delta", "thinking_delta", "new"])},
    optional={"text": ANY, "partial_json": ANY, "thinking": ANY},
)
EVENT = ANY | st.fixed_dictionaries(
    {"type": KINDS},
    optional={
        "index": st.integers(0, 2) | ANY,
        "content_block": BLOCK | ANY,
        "delta": DELTA | ANY,
        "message": st.fixed_dictionaries({}, optional={"id": ANY, "usage": ANY}) | ANY,
        "usage": ANY,
    },
)


@given(st.lists(EVENT, max_size=12))
def test_reader_survives_any_events(events: list[Any]) -> None:
    shown: list[Delta] = []
    reader = StreamReader(shown.append, Limits())
    for event in events:
        reader.feed(event)
    answer = read_message(reader.message(), "p/m")
    ids = [call.id for call in answer.message.tool_calls]
    assert len(set(ids)) == len(ids)


@given(st.text(), st.text(), st.dictionaries(st.text(), st.integers() | st.text()))
def test_response_does_not_depend_on_how_a_stream_is_cut(
    thinking: str, text: str, arguments: dict[str, Any]
) -> None:
    encoded = json.dumps(arguments)
    kinds = (
        ({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", thinking),
        ({"type": "text", "text": ""}, "text_delta", "text", text),
        ({"type": "tool_use", "id": "t", "name": "n"}, "input_json_delta", "partial_json", encoded),
    )
    reader = StreamReader(lambda _: None, Limits())
    for index, (block, kind, key, whole) in enumerate(kinds):
        reader.feed({"type": "content_block_start", "index": index, "content_block": block})
        for piece in whole:
            delta = {"type": kind, key: piece}
            reader.feed({"type": "content_block_delta", "index": index, "delta": delta})
    answer = read_message(reader.message(), "p/m")
    texts = (TextBlock(text),) if text else ()
    assert answer.blocks == (ThinkingBlock(thinking), *texts, ToolCall("t", "n", arguments))


@pytest.mark.slow
async def test_concurrent_requests_get_their_own_answers(talk: MakeTalk) -> None:
    t = talk(*[Reply(text="all of you", delay=0.5)] * 150)
    answers = await asyncio.gather(*(t.ask() for _ in range(150)))
    assert {answer.text for answer in answers} == {"all of you"}
    assert len(t.server.bodies) == 150
