"""What a server attaches to a message comes back to the same model, unchanged and in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hookline_hookspecs import Message, ModelRequest, ToolResultBlock
from support.openai_server import Reply

ASK = ModelRequest("openai/m", "", (), (Message.user("hi"),))
EXTENSIONS = ("extra_content", "reasoning_details", "reasoning_content")
SIGNED = {"google": {"thought_signature": "c2ln"}}


def chunk(finish=None, **delta):
    return {"id": "c-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(number, **more):
    function = {"name": "read", "arguments": f'{{"n":{number}}}'}
    return {
        "index": number,
        "id": f"call_{number}",
        "type": "function",
        "function": function,
    } | more


async def second_request(serve, connect, first, model="openai/m", stream=True, **options):
    """The messages of the request after ``first``, with every call answered."""
    server = serve([first, "done"], extensions=EXTENSIONS)
    provider = connect(server, stream=stream, **options)
    response = await provider.send(provider.render(ASK), None)
    stored = Message.from_dict(response.message.to_dict())
    results = tuple(ToolResultBlock(one.id, "ok") for one in stored.tool_calls)
    following = Message("user", results) if results else Message.user("go on")
    request = replace(ASK, model=model, messages=(*ASK.messages, stored, following))
    await provider.send(provider.render(request), None)
    return server.requests[1].json["messages"]


@pytest.mark.parametrize("stream", [True, False])
async def test_signatures_of_calls_are_sent_back_with_their_call(serve, connect, stream):
    calls = [call(0, extra_content=SIGNED), call(1)]
    reply = Reply(chunks=[chunk(tool_calls=calls), chunk("tool_calls"), "data: [DONE]\n\n"])
    if not stream:
        whole = {"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}
        reply = Reply(body={"choices": [whole]})
    sent = (await second_request(serve, connect, reply, stream=stream))[1]["tool_calls"]
    assert sent[0]["extra_content"] == SIGNED
    assert "extra_content" not in sent[1]


async def test_signature_of_text_is_sent_back(serve, connect):
    stream = [chunk(content="Hello"), chunk("stop", extra_content=SIGNED), "data: [DONE]\n\n"]
    sent = (await second_request(serve, connect, Reply(chunks=stream)))[1]
    assert sent["content"] == "Hello"
    assert sent["extra_content"] == SIGNED


async def test_reasoning_details_are_joined_and_sent_back_in_order(serve, connect):
    text, sealed = {"type": "reasoning.text", "index": 0}, {"type": "reasoning.encrypted"}
    pieces = [
        [text | {"text": "Let me "}],
        [text | {"text": "think."}],
        [text | {"signature": "sig"}],
        [sealed | {"data": "abc", "index": 1}],
    ]
    stream = [chunk(reasoning_details=one) for one in pieces]
    stream += [chunk(tool_calls=[call(0)]), chunk("tool_calls"), "data: [DONE]\n\n"]
    sent = (await second_request(serve, connect, Reply(chunks=stream)))[1]
    assert sent["reasoning_details"] == [
        text | {"text": "Let me think.", "signature": "sig"},
        sealed | {"data": "abc", "index": 1},
    ]


async def test_reasoning_content_is_sent_back_to_a_server_that_sent_it_with_calls(serve, connect):
    stream = [chunk(reasoning_content="hm"), chunk(tool_calls=[call(0)]), chunk("tool_calls")]
    assert (await second_request(serve, connect, Reply(chunks=stream)))[1][
        "reasoning_content"
    ] == "hm"
    without_calls = [chunk(reasoning_content="hm"), chunk("stop", content="yes")]
    sent = (await second_request(serve, connect, Reply(chunks=without_calls)))[1]
    assert sent == {"role": "assistant", "content": "yes"}


async def test_another_model_gets_no_state(serve, connect):
    stream = [
        chunk(reasoning_content="hm", reasoning_details=[{"type": "reasoning.text", "text": "hm"}]),
        chunk("tool_calls", tool_calls=[call(0, extra_content=SIGNED)]),
    ]
    sent = await second_request(serve, connect, Reply(chunks=stream), model="openai/other")
    assert sent[1].keys() == {"role", "content", "tool_calls"}
    assert sent[1]["tool_calls"][0].keys() == {"id", "type", "function"}


async def test_encrypted_reasoning_of_responses_is_sent_back(serve, connect):
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    function = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    body = {"id": "r", "status": "completed", "output": [item, function]}
    server = serve([Reply(body=body), "done"])
    provider = connect(server, api="responses", stream=False)
    response = await provider.send(provider.render(ASK), None)
    results = Message("user", (ToolResultBlock("c1", "ok"),))
    request = replace(ASK, messages=(*ASK.messages, response.message, results))
    await provider.send(provider.render(request), None)
    assert server.requests[1].json["input"][1] == item
