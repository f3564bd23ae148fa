"""Whole conversations over chat completions: real SDK, strict fake server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hookline_hookspecs import (
    Delta,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
    Usage,
)
from support.openai_server import OpenAIServer, Reply, Use

PNG = ImageBlock("image/png", "iVBORw0KGgo=", origins=())
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = tuple(ToolSchema(f"tool_{i}", f"Tool number {i}.", PATH) for i in range(10))


def ask(*messages: Message, **changes: object) -> ModelRequest:
    request = ModelRequest("openai/gpt-5", "You are kind.", TOOLS, messages)
    return replace(request, **changes)


def answered(message: Message) -> Message:
    """A result for each call of ``message``."""
    return Message("user", tuple(ToolResultBlock(c.id, f"did {c.id}") for c in message.tool_calls))


@pytest.mark.parametrize("stream", [True, False])
async def test_chat_response_with_everything(serve, connect, stream):
    use = Use("tool_1", {"path": "ä"}, id="call_a")
    server = serve([Reply("The text.", [use], reasoning="Let me think.")])
    provider = connect(server, stream=stream)
    deltas: list[Delta] = []
    response = await provider.send(provider.render(ask(Message.user("hi"))), deltas.append)
    assert response.blocks == (
        ThinkingBlock("Let me think."),
        TextBlock("The text."),
        ToolCall("call_a", "tool_1", {"path": "ä"}),
    )
    assert response.stop == "tools"
    assert response.model == "openai/gpt-5"
    assert "".join(d.text for d in deltas if d.kind == "text") == "The text."
    assert "".join(d.text for d in deltas if d.kind == "thinking") == "Let me think."


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_conversation_of_ten_tools_and_an_answer(serve, connect, api, stream):
    steps = [Reply(None, [Use(f"tool_{i}", {"path": str(i)})]) for i in range(10)]
    server = serve([*steps, "done"])
    provider = connect(server, api=api, stream=stream)
    messages = [Message.user("go", context="<context>now</context>")]
    while True:
        response = await provider.send(provider.render(ask(*messages)), None)
        if not response.message.tool_calls:
            break
        messages += [response.message, answered(response.message)]
    assert response.text == "done"
    assert response.stop == "end"
    assert len(server.requests) == 11
    assert [m.tool_calls[0].arguments["path"] for m in messages if m.tool_calls] == list(
        "0123456789"
    )


async def test_history_is_sent_again_unchanged(serve, connect):
    server = serve([Reply("a", [Use("tool_1"), Use("tool_2")]), "b", "c"])
    provider = connect(server)
    messages = [Message.user("one " * 2000, context="<context/>")]
    usages = []
    for following in (None, Message.user("two"), None):
        response = await provider.send(provider.render(ask(*messages)), None)
        usages.append(response.usage)
        messages.append(response.message)
        if response.message.tool_calls:
            messages.append(answered(response.message))
        elif following:
            messages.append(following)
    earlier = [request.raw.removesuffix(b"]}") for request in server.requests]
    assert earlier[1].startswith(earlier[0])
    assert earlier[2].startswith(earlier[1])
    assert usages[0].cache_read == 0
    assert usages[1].cache_read >= 1024
    assert usages[1].cache_read % 128 == 0


async def test_parallel_calls_and_their_results(serve, connect):
    uses = [Use("tool_1", {"path": "x"}), Use("tool_2", {"path": "y"}), Use("tool_1", {})]
    server = serve([Reply(None, uses), "fine"])
    provider = connect(server)
    first = await provider.send(provider.render(ask(Message.user("go"))), None)
    messages = [Message.user("go"), first.message, answered(first.message)]
    await provider.send(provider.render(ask(*messages)), None)
    sent = server.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert sent[2]["content"] is None
    assert [c["id"] for c in sent[2]["tool_calls"]] == [m["tool_call_id"] for m in sent[3:]]


async def test_images_of_people_and_of_tools(serve, connect):
    server = serve(["seen"])
    provider = connect(server)
    shown = Message("user", (TextBlock("look"), PNG), context="<context/>")
    call = Message("assistant", (ToolCall("c1", "tool_1", {"path": "p"}),))
    result = ToolResultBlock("c1", "a picture", images=(PNG,))
    steered = Message("user", (result, TextBlock("and be quick")))
    await provider.send(provider.render(ask(shown, call, steered)), None)
    _, first, _, tool, last = server.requests[0].json["messages"]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    texts = [{"type": "text", "text": "look"}, {"type": "text", "text": "<context/>"}]
    assert first["content"] == [texts[0], image, texts[1]]
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": "a picture"}
    assert last["role"] == "user"
    assert image in last["content"]
    assert last["content"][-1]["text"] == "and be quick"


async def test_plain_text_is_sent_as_a_string(serve, connect):
    server = serve(["ok"])
    provider = connect(server)
    message = Message("user", (TextBlock("one"), TextBlock("two")), context="<context/>")
    await provider.send(provider.render(ask(message)), None)
    assert server.requests[0].json["messages"][1]["content"] == "one\n\ntwo\n\n<context/>"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_conversation_with_empty_messages_is_accepted(serve, connect, api):
    server = serve(["ok"])
    provider = connect(server, api=api)
    broken = ToolCall("x" * 60, "", {}, error="no name")
    odd = ToolCall("call_2", "täglich/run it", {"b": 1})
    messages = [
        Message("user", ()),
        Message("assistant", ()),
        Message("user", (TextBlock(""),)),
        Message("assistant", (TextBlock(" \n"), ThinkingBlock("hm", signature="seal"))),
        Message.user("a lone \ud800 surrogate and \x00"),
        Message("assistant", (broken, odd)),
        Message("user", (ToolResultBlock("x" * 60, ""), ToolResultBlock("call_2", "ok"))),
    ]
    response = await provider.send(provider.render(ask(*messages)), None)
    assert response.text == "ok"
    assert b"hm" not in server.requests[0].raw


async def test_fields_follow_the_parameters(serve, connect):
    server = serve(["{}", "{}"])
    provider = connect(server)
    params = {"max_tokens": 50, "temperature": 0.5, "tool_choice": "none", "schema": PATH}
    request = ask(Message.user("hi"), params=params)
    await provider.send(provider.render(request), None)
    await provider.send(provider.render(replace(request, tools=())), None)
    first, second = (request.json for request in server.requests)
    assert first["model"] == "gpt-5"
    assert first["max_tokens"] == 50
    assert first["temperature"] == 0.5
    assert first["tool_choice"] == "none"
    assert first["stream_options"] == {"include_usage": True}
    assert first["response_format"]["json_schema"]["schema"] == PATH
    assert "tools" not in second
    assert "tool_choice" not in second


async def test_request_sets_nothing_beyond_its_parameters(serve, connect):
    server = serve(["ok"])
    provider = connect(server, stream=False)
    await provider.send(provider.render(ask(Message.user("hi"), tools=(), system="")), None)
    assert server.requests[0].json == {
        "model": "gpt-5",
        "stream": False,
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_request_decides_whether_to_stream(serve, connect):
    server = serve(["ok", "ok"])
    provider = connect(server, stream=True)
    for stream in (False, True):
        request = ask(Message.user("hi"), params={"stream": stream})
        assert (await provider.send(provider.render(request), None)).text == "ok"
    assert [request.json["stream"] for request in server.requests] == [False, True]


async def test_ephemeral_text_is_a_second_system_message_for_one_call(serve, connect):
    server = serve(["ok", "ok"])
    provider = connect(server)
    await provider.send(provider.render(ask(Message.user("hi"), ephemeral="Be brief.")), None)
    await provider.send(provider.render(ask(Message.user("hi"))), None)
    first, second = (request.json["messages"] for request in server.requests)
    assert first[:2] == [
        {"role": "system", "content": "You are kind."},
        {"role": "system", "content": "Be brief."},
    ]
    assert second == [first[0], first[2]]


async def test_fields_of_plugins_reach_the_server(serve, connect):
    server = serve(["ok"])
    provider = connect(server, headers={"X-Team": "blue"})
    wire = provider.render(ask(Message.user("hi")))
    fields = {**wire.fields, "prompt_cache_key": "session-1"}
    await provider.send(replace(wire, fields=fields), None)
    assert server.requests[0].json["prompt_cache_key"] == "session-1"
    assert server.requests[0].headers["x-team"] == "blue"
    assert server.requests[0].headers["authorization"] == "Bearer sk-test"


@pytest.mark.slow
@pytest.mark.parametrize(("sessions", "delay"), [(30, 0.02), (200, 0.5)])
async def test_concurrent_sessions_get_their_own_answers(serve, connect, sessions, delay):
    def echo(body):
        return Reply(body["messages"][-1]["content"], delay=delay, piece=3)

    server = serve(echo)
    provider = connect(server)

    async def talk(number: int) -> tuple[str, str]:
        shown: list[str] = []
        wire = provider.render(ask(Message.user(f"this is session {number}")))
        response = await provider.send(wire, lambda delta: shown.append(delta.text))
        return response.text, "".join(shown)

    answers = await asyncio.gather(*(talk(number) for number in range(sessions)))
    expected = [f"this is session {number}" for number in range(sessions)]
    assert answers == [(text, text) for text in expected]


async def test_cancelled_request_leaves_the_provider_usable(serve, connect):
    server = serve([Reply("slow " * 50, pace=0.05), "quick"])
    provider = connect(server)
    begun = asyncio.Event()
    wire = provider.render(ask(Message.user("hi")))
    task = asyncio.create_task(provider.send(wire, lambda _: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await provider.send(wire, None)).text == "quick"


async def test_closed_provider_opens_new_connections(serve, connect):
    server = serve(["one", "two"])
    provider = connect(server)
    wire = provider.render(ask(Message.user("hi")))
    await provider.send(wire, None)
    await provider.aclose()
    assert (await provider.send(wire, None)).text == "two"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(100, 64, 0, 20, 5),
        ),
        (
            {"prompt_tokens": 90, "prompt_cache_hit_tokens": 30, "prompt_cache_miss_tokens": 60},
            Usage(90, 30),
        ),
        ({"prompt_tokens": 9, "cached_tokens": 4, "completion_tokens": 1}, Usage(9, 4, 0, 1)),
        ({"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None}, Usage(7)),
        ({"prompt_tokens": "many", "completion_tokens": -3}, Usage()),
        (None, Usage()),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_usage_is_read_from_every_server(serve, connect, usage, expected, stream):
    provider = connect(serve([Reply("ok", usage=usage)]), stream=stream)
    response = await provider.send(provider.render(ask(Message.user("hi"))), None)
    assert response.usage == expected


def test_server_lists_its_models():
    import json
    import urllib.request

    with OpenAIServer(models=["gpt-5", "small"]) as server:
        headers = {"Authorization": "Bearer k"}
        request = urllib.request.Request(server.base_url + "/models", headers=headers)
        with urllib.request.urlopen(request) as response:
            found = json.load(response)
    assert [model["id"] for model in found["data"]] == ["gpt-5", "small"]
