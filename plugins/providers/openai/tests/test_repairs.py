"""One item that a server refuses is left out or changed, told, and remembered for the model."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import (
    BadRequest,
    ImageBlock,
    Message,
    ModelRequest,
    ProviderSettings,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)
from hookline_openai import OpenAIProvider
from support.openai_server import Reply

NONE = {"type": "object", "properties": {}}
TOOLS = tuple(ToolSchema(name, "A tool.", NONE) for name in ("read_file", "mcp__odd"))
PICTURE = Message("user", (TextBlock("look"), ImageBlock("image/png", "iVBORw0KGgo=", origins=())))


def refusing(is_bad, message, status=400, **error):
    """A server that refuses what is bad and answers ``ok`` to all else."""

    def reply(body):
        if is_bad(json.dumps(body)):
            return Reply(status=status, body={"error": {"message": message, **error}})
        return "ok"

    return reply


async def ask(provider, *messages, tools=TOOLS):
    """The text of the response, and the notices."""
    shown = []
    request = ModelRequest("openai/m", "", tools, messages)
    response = await provider.send(provider.render(request), shown.append)
    return response.text, [delta.text for delta in shown if delta.kind == "notice"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "unknown variant `image_url`, expected `text`"),
        (400, "m is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
    ],
)
async def test_picture_that_a_model_cannot_see_is_left_out(serve, connect, status, message):
    server = serve(refusing(lambda body: "image_url" in body, message, status))
    provider = connect(server)
    answered, notices = await ask(provider, PICTURE)
    assert answered == "ok"
    assert len(notices) == 1
    assert "cannot read images" in notices[0]
    content = server.requests[-1].json["messages"][0]["content"]
    assert content.startswith("look")
    assert "image was left out" in content
    seen = len(server.requests)
    following = (PICTURE, Message.assistant("ok"), Message.user("and now?"))
    assert await ask(provider, *following) == ("ok", [])
    assert len(server.requests) == seen + 1


async def test_single_bad_picture_is_left_out_and_others_are_sent(serve, connect):
    bad = Message("user", (ImageBlock("image/png", "AAAA", origins=()),))
    server = serve(refusing(lambda body: "AAAA" in body, "Could not process image"))
    provider = connect(server)
    assert (await ask(provider, bad))[0] == "ok"
    assert (await ask(provider, bad, Message.assistant("ok"), PICTURE)) == ("ok", [])
    assert "iVBORw0KGgo=" in json.dumps(server.requests[-1].json)


async def test_repairs_are_remembered_for_other_processes(serve, tmp_path):
    server = serve(refusing(lambda body: "image_url" in body, "this model has no vision support"))
    for expected in (2, 3):
        settings = ProviderSettings("openai", server.base_url, "k", {}, {}, home=tmp_path)
        provider = OpenAIProvider(settings)
        answered, notices = await ask(provider, PICTURE)
        await provider.aclose()
        assert answered == "ok"
        assert len(server.requests) == expected
        assert len(notices) == 1  # a new picture is told again


async def test_repeated_call_ids_are_renamed_with_their_results(serve, connect):
    def turn(path):
        call = ToolCall("read_file:0", "read_file", {"path": path})
        return [
            Message.user("read"),
            Message("assistant", (call,)),
            Message("user", (ToolResultBlock("read_file:0", path),)),
        ]

    def is_bad(body):
        calls = [c for m in json.loads(body)["messages"] for c in m.get("tool_calls") or ()]
        return len({c["id"] for c in calls}) < len(calls)

    server = serve(refusing(is_bad, "duplicate tool call id read_file:0"))
    answered, notices = await ask(connect(server), *turn("a"), *turn("b"))
    assert answered == "ok"
    assert len(notices) == 1
    sent = server.requests[-1].json["messages"]
    calls = [one["tool_calls"][0]["id"] for one in sent if one.get("tool_calls")]
    results = [one["tool_call_id"] for one in sent if one["role"] == "tool"]
    assert calls == results
    assert len(set(calls)) == 2


@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for function 'mcp__odd': In context=(), 'allOf' is not permitted",
        "tools.1.custom.input_schema: input_schema does not support oneOf",
        "GenerateContentRequest.tools[0].function_declarations[1].parameters: should be non-empty",
    ],
)
async def test_bad_tool_schema_costs_only_that_tool(serve, connect, message):
    server = serve(refusing(lambda body: "mcp__odd" in body, message))
    provider = connect(server)
    answered, notices = await ask(provider, Message.user("hi"))
    assert answered == "ok"
    assert "mcp__odd" in notices[0]
    tools = server.requests[-1].json["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["read_file"]
    assert await ask(provider, Message.user("hi")) == ("ok", [])
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "message",
    [
        "Unknown parameter: 'messages[1].reasoning_content'.",
        "messages.1.reasoning_content: Extra inputs are not permitted",
        "for 'role:assistant' property 'reasoning_content' is unsupported",
    ],
)
async def test_refused_field_of_a_message_is_left_out(serve, connect, message):
    own = ProviderState("openai/m", {"reasoning_content": True})
    call = ToolCall("c", "read_file", {})
    history = [
        Message.user("hi"),
        Message("assistant", (ThinkingBlock("hm", state=own), call)),
        Message("user", (ToolResultBlock("c", "ok"),)),
    ]
    script = refusing(lambda body: "reasoning_content" in body, message)
    server = serve(script, extensions=("reasoning_content",))
    answered, notices = await ask(connect(server), *history)
    assert answered == "ok"
    assert "reasoning_content" in notices[0]


async def test_calls_without_a_signature_are_marked_for_gemini(serve, connect):
    call = ToolCall("c", "read_file", {})
    history = [
        Message.user("hi"),
        Message("assistant", (call,)),
        Message("user", (ToolResultBlock("c", "ok"),)),
    ]
    script = refusing(
        lambda body: "thought_signature" not in body,
        "Function call is missing a thought_signature in functionCall parts.",
    )
    server = serve(script, extensions=("extra_content",))
    assert (await ask(connect(server), *history))[0] == "ok"


async def test_error_that_nothing_repairs_is_sent_once_and_says_what_helps(serve, connect):
    server = serve(refusing(lambda _: True, "messages: something else is wrong"))
    with pytest.raises(BadRequest, match=r"/undo.*/compact"):
        await ask(connect(server), PICTURE)
    assert len(server.requests) == 1


async def test_repair_that_does_not_help_ends_with_the_error(serve, connect):
    server = serve(refusing(lambda _: True, "this model does not support images"))
    with pytest.raises(BadRequest, match="does not support images"):
        await ask(connect(server), PICTURE)
    assert len(server.requests) == 2
