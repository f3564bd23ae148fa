"""Responses that deviate from the API, each seen from some server."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import (
    Message,
    ModelRequest,
    NetworkError,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from hookline_openai.tool_calls import ToolCallAssembler, read_calls
from hypothesis import given
from hypothesis import strategies as st
from support.openai_server import Reply, Use

ASK = ModelRequest("openai/m", "", (), (Message.user("hi"),))
DONE = "data: [DONE]\n\n"


def chunk(finish=None, **delta):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "choices": [choice]}


def piece(index=None, call_id=None, name=None, arguments=None):
    """A piece of a tool call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    call = {"index": index, "id": call_id, "function": {k: v for k, v in function.items() if v}}
    return {key: value for key, value in call.items() if value is not None}


def calls(*pieces, finish="tool_calls"):
    """A stream with one chunk for each piece."""
    return [*(chunk(tool_calls=[p]) for p in pieces), chunk(finish), DONE]


async def answer_to(serve, connect, reply, **options):
    provider = connect(serve([reply]), **options)
    return await provider.send(provider.render(ASK), None)


A, B = ToolCall("a", "read", {"x": 1}), ToolCall("b", "list", {"y": [2]})

STREAMS = {
    "as prescribed": calls(
        piece(0, "a", "read"), piece(0, arguments='{"x"'), piece(0, arguments=":1}"),
        piece(1, "b", "list"), piece(1, arguments='{"y":[2]}'),
    ),
    "interleaved": calls(
        piece(0, "a", "read", '{"x"'), piece(1, "b", "list", '{"y"'),
        piece(0, arguments=":1}"), piece(1, arguments=":[2]}"),
    ),
    "no index": calls(
        piece(None, "a", "read", '{"x"'), piece(arguments=":1}"),
        piece(None, "b", "list", '{"y"'), piece(arguments=":[2]}"),
    ),
    "no index, interleaved by id": calls(
        piece(None, "a", "read", '{"x"'), piece(None, "b", "list", '{"y"'),
        piece(None, "a", arguments=":1}"), piece(None, "b", arguments=":[2]}"),
    ),
    "id and name repeated": calls(
        piece(0, "a", "read", '{"x"'), piece(0, "a", "read", ":1}"),
        piece(1, "b", "list", '{"y":'), piece(1, "b", "list", "[2]}"),
    ),
    "name in pieces": calls(
        piece(0, "a", "re"), piece(0, name="ad"), piece(0, arguments='{"x":1}'),
        piece(1, "b", "l"), piece(1, name="ist"), piece(1, arguments='{"y":[2]}'),
    ),
    "every index is 0": calls(piece(0, "a", "read", '{"x":1}'), piece(0, "b", "list", '{"y":[2]}')),
    "a new id on each piece": calls(
        piece(0, "a", "read"), piece(0, "a2", arguments='{"x":1}'),
        piece(1, "b", "list"), piece(1, "b2", arguments='{"y":[2]}'),
    ),
    "arguments are an object": calls(
        piece(0, "a", "read", {"x": 1}), piece(1, "b", "list", {"y": [2]})
    ),
    "all in one chunk": [
        chunk(
            tool_calls=[piece(None, "a", "read", '{"x":1}'), piece(None, "b", "list", '{"y":[2]}')]
        ),
        chunk("stop"),
        DONE,
    ],
}  # fmt: skip
WITHOUT_END = calls(
    piece(0, "a", "read", '{"x":1}'), piece(1, "b", "list", '{"y":[2]}'), finish=None
)


@pytest.mark.parametrize("name", STREAMS)
async def test_pieces_of_two_calls_are_assembled(serve, connect, name):
    response = await answer_to(serve, connect, Reply(chunks=STREAMS[name]))
    assert response.blocks == (A, B)
    assert response.stop == "tools"


@pytest.mark.parametrize(
    ("chunks", "stop"),
    [(WITHOUT_END, "tools"), (WITHOUT_END[:-2], "incomplete")],
    ids=["no reason", "no end"],
)
async def test_calls_without_a_finish_reason_need_a_marked_end(serve, connect, chunks, stop):
    response = await answer_to(serve, connect, Reply(chunks=chunks))
    assert response.stop == stop


async def test_calls_in_one_chunk_without_index_and_id_are_separate(serve, connect):
    pieces = [piece(name="read", arguments='{"x":1}'), piece(name="read", arguments='{"x":2}')]
    stream = [chunk(tool_calls=pieces), chunk("tool_calls"), DONE]
    response = await answer_to(serve, connect, Reply(chunks=stream))
    assert [call.arguments for call in response.blocks] == [{"x": 1}, {"x": 2}]
    assert len({call.id for call in response.blocks}) == 2


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("I will read the file", "not JSON"),
        ('{"x": 1', "not JSON"),
        ('{"x": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ('"x"', "not a JSON object"),
    ],
)
async def test_unreadable_arguments_are_an_error_of_the_call(
    serve, connect, api, stream, arguments, fault
):
    reply = Reply(None, [Use("read", arguments)], piece=50_000)
    response = await answer_to(serve, connect, reply, api=api, stream=stream)
    [call] = response.blocks
    assert call.arguments == {}
    assert fault in call.error
    assert arguments[:20] in call.error
    assert len(call.error) < 400
    assert response.stop == "tools"


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("arguments", ["", "null", "[]"])
async def test_missing_arguments_are_an_empty_object(serve, connect, api, arguments):
    response = await answer_to(serve, connect, Reply(None, [Use("now", arguments, "c")]), api=api)
    assert response.blocks == (ToolCall("c", "now", {}),)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["", None])
async def test_call_without_a_name_is_an_error(serve, connect, name, stream):
    reply = Reply(None, [Use(name, {"x": 1})])
    response = await answer_to(serve, connect, reply, stream=stream)
    [call] = response.blocks
    assert "name" in call.error
    assert call.id


@pytest.mark.parametrize("stream", [True, False])
async def test_calls_without_an_id_get_stable_ones(serve, connect, stream):
    reply = Reply(None, [Use("read", {"x": 1}, None), Use("read", {"x": 1}, None)])
    provider = connect(serve([reply, reply, "ok"]), stream=stream)
    first = await provider.send(provider.render(ASK), None)
    second = await provider.send(provider.render(ASK), None)
    ids = [call.id for call in (*first.blocks, *second.blocks)]
    assert len(set(ids)) == 4
    assert all(0 < len(call_id) <= 40 for call_id in ids)


@pytest.mark.parametrize("stream", [True, False])
async def test_duplicate_ids_are_renamed(serve, connect, stream):
    uses = [Use("read", {"x": n}, "same") for n in range(3)]
    response = await answer_to(serve, connect, Reply(None, uses), stream=stream)
    ids = [call.id for call in response.blocks]
    assert ids[0] == "same"
    assert len(set(ids)) == 3


@pytest.mark.parametrize("ending", ["cut", "length"])
async def test_arguments_that_were_cut_off_are_an_error(serve, connect, ending):
    stream = [chunk(tool_calls=[piece(0, "a", "write", '{"text": "Once up')])]
    stream += [chunk("length"), DONE] if ending == "length" else []
    response = await answer_to(serve, connect, Reply(chunks=stream))
    [call] = response.blocks
    assert "cut off" in call.error
    assert "Once up" in call.error
    assert response.stop == ("tools" if ending == "length" else "incomplete")


async def test_call_cut_before_its_arguments_is_an_error(serve, connect):
    stream = [chunk(tool_calls=[piece(0, "a", "write")])]
    response = await answer_to(serve, connect, Reply(chunks=stream))
    assert "cut off" in response.blocks[0].error


@pytest.mark.parametrize(("end", "stop"), [([DONE], "end"), ([], "incomplete")])
async def test_text_without_a_finish_reason_needs_a_marked_end(serve, connect, end, stop):
    reply = Reply(chunks=[chunk(content="an answer"), *end])
    response = await answer_to(serve, connect, reply)
    assert response.text == "an answer"
    assert response.stop == stop


async def test_empty_stream_is_an_error(serve, connect):
    with pytest.raises(NetworkError, match="broke off: it was empty"):
        await answer_to(serve, connect, Reply(chunks=[DONE]))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", [None, ""])
async def test_empty_content_is_accepted(serve, connect, text, stream):
    response = await answer_to(serve, connect, Reply(text), stream=stream)
    assert response.blocks == ()
    assert response.stop == "end"


@pytest.mark.long
@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("model_length", "context"),
        ("pause_turn", "pause"),
        ("insufficient_system_resource", "incomplete"),
        ("tool_calls", "end"),
        ("something new", "end"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_finish_reasons_become_stops(serve, connect, finish, stop, stream):
    response = await answer_to(serve, connect, Reply("text", finish=finish), stream=stream)
    assert response.stop == stop


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
async def test_tool_call_stops_for_tools(serve, connect, finish):
    reply = Reply("text", [Use("read", {"x": 1})], finish=finish)
    assert (await answer_to(serve, connect, reply)).stop == "tools"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_refusal_is_shown_and_stops(serve, connect, api, stream):
    reply = Reply(refusal="I cannot do that.")
    response = await answer_to(serve, connect, reply, api=api, stream=stream)
    assert response.text == "I cannot do that."
    assert response.stop == "refusal"


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
)
async def test_reasoning_is_read_under_every_name(serve, connect, delta):
    stream = [chunk(**delta), chunk(content=[{"type": "text", "text": "yes"}]), chunk("stop"), DONE]
    response = await answer_to(serve, connect, Reply(chunks=stream))
    assert response.blocks == (ThinkingBlock("hm"), TextBlock("yes"))


async def test_odd_events_are_skipped(serve, connect):
    stream = [
        ": OPENROUTER PROCESSING\n\n",
        "event: ping\ndata: {}\n\n",
        'data: "hello"\n\n',
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"index": 0, "delta": None}]},
        chunk(content="he", role="assistant", unknown={"a": 1}),
        chunk(tool_calls=None, content=None),
        chunk(tool_calls=[None, "x"]),
        "data: " + json.dumps(chunk("stop", content="llo")).replace(" ", "") + "\r\n\r\n",
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
        DONE,
    ]
    response = await answer_to(serve, connect, Reply(chunks=stream))
    assert response.text == "hello"
    assert response.stop == "end"
    assert response.usage.input == 3


async def test_text_split_inside_a_character_is_joined(serve, connect):
    event = json.dumps(chunk("stop", content="naïve 日本 🎉"), ensure_ascii=False)
    raw = f"data: {event}\n\n".encode()
    stream = [raw[i : i + 1] for i in range(len(raw))]
    assert (await answer_to(serve, connect, Reply(chunks=stream))).text == "naïve 日本 🎉"


async def test_response_that_is_not_streamed_is_read(serve, connect):
    whole = {"choices": [{"message": {"role": "assistant", "content": "all at once"}}]}
    deltas = []
    provider = connect(serve([Reply(body=whole)]), stream=True)
    response = await provider.send(provider.render(ASK), deltas.append)
    assert response.text == "all at once"
    assert response.stop == "end"
    assert [delta.text for delta in deltas] == ["all at once"]


async def test_failed_call_is_replayed_in_an_accepted_form(serve, connect):
    server = serve([Reply(None, [Use("", "oops"), Use("read", "oops")]), "sorry"])
    provider = connect(server)
    first = await provider.send(provider.render(ASK), None)
    results = tuple(ToolResultBlock(c.id, f"Error: {c.error}", False) for c in first.blocks)
    messages = (*ASK.messages, first.message, Message("user", results))
    again = ModelRequest("openai/m", "", (), messages)
    assert (await provider.send(provider.render(again), None)).text == "sorry"
    sent = server.requests[1].json["messages"][1]["tool_calls"]
    assert [call["function"]["arguments"] for call in sent] == ["{}", "{}"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PIECE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 2) | st.none(),
        "id": st.sampled_from(["a", "b", ""]) | JSON,
        "function": st.fixed_dictionaries(
            {}, optional={"name": st.text(max_size=3) | JSON, "arguments": st.text() | JSON}
        )
        | JSON,
    },
)


@pytest.mark.slow
@given(st.lists(st.lists(PIECE | JSON, max_size=3) | JSON, max_size=6), st.booleans())
def test_any_pieces_become_usable_calls(chunks, cut):
    pieces = ToolCallAssembler()
    for part in chunks:
        pieces.add(part)
    found = read_calls(pieces.calls, "salt", cut)
    assert len({call.id for call in found}) == len(found)
    assert all(call.id and isinstance(call.arguments, dict) for call in found)
    assert all(call.name or call.error for call in found)


@given(
    st.lists(
        st.tuples(st.text("abc_", min_size=1), st.dictionaries(st.text(), JSON, max_size=3)),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 9),
)
def test_calls_are_assembled_from_any_pieces(wanted, size):
    pieces = ToolCallAssembler()
    for index, (name, arguments) in enumerate(wanted):
        text = json.dumps(arguments)
        pieces.add([piece(index, f"id_{index}", name)])
        for start in range(0, len(text), size):
            pieces.add([piece(index, arguments=text[start : start + size])])
    found = read_calls(pieces.calls, "salt", False)
    assert [(call.name, call.arguments) for call in found] == wanted
