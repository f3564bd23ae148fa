"""One item that a server refuses is left out or changed, told, and remembered for the model."""

from __future__ import annotations

import json
from itertools import pairwise

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
        (400, "model is not a VLM"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (422, "Input should be a valid string"),
        (400, "模型不支持图片输入"),
        (400, "Das Modell unterstützt keine Bilder"),
        (400, "Este modelo no admite imágenes"),
        (400, "messages[0]: invalid type: sequence, expected a string at line 1 column 90"),
        (400, "messages.content.type 参数非法，取值范围 ['text']"),
        (400, "Unexpected item type in content."),
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


@pytest.mark.parametrize(
    "message",
    [
        "Could not process image",
        "You uploaded an unsupported image. Please make sure your image is valid.",
        "Invalid 'messages[1].content[1].image_url.url'. Expected a valid URL.",
        "Unsupported: the image must have one of the following formats: png, jpeg",
        "Failed to load image: cannot identify image file",
        "The media type image/heic is not supported",
    ],
)
async def test_single_bad_picture_is_left_out_and_others_are_sent(serve, connect, message):
    bad = Message("user", (ImageBlock("image/png", "AAAA", origins=()),))
    server = serve(refusing(lambda body: "AAAA" in body, message))
    provider = connect(server)
    assert (await ask(provider, bad))[0] == "ok"
    assert (await ask(provider, bad, Message.assistant("ok"), PICTURE)) == ("ok", [])
    assert "iVBORw0KGgo=" in json.dumps(server.requests[-1].json)


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("At most 2 image(s) may be provided in one prompt.", 2),
        ("Too many images in request: 3 > 2", 2),
        ("You have reached the limit of 1 images", 1),
        ("too many images", 1),
        ("图片数量超过限制，最多 2 张", 2),
    ],
)
async def test_pictures_beyond_the_most_of_a_server_are_left_out_but_the_latest(
    serve, connect, message, most
):
    def is_bad(body):
        return body.count("data:image") > most

    server = serve(refusing(is_bad, message))
    pictures = [ImageBlock("image/png", data, origins=()) for data in ("AAAA", "BBBB", "CCCC")]
    said = [part for one in pictures for part in (Message("user", (one,)), Message.assistant("ok"))]
    answered, notices = await ask(connect(server), *said, Message.user("and now?"))
    assert (answered, len(notices)) == ("ok", 1)
    assert "fewer images" in notices[0]
    sent = json.dumps(server.requests[-1].json)
    assert [data in sent for data in ("AAAA", "BBBB", "CCCC")] == [False, most > 1, True]


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


@pytest.mark.parametrize(
    "message",
    [
        "duplicate tool call id read_file:0",
        "each tool_use must have a single result. Found multiple `tool_result` blocks",
        "tool_call_id read_file:0 is not found",
    ],
)
async def test_repeated_call_ids_are_renamed_with_their_results(serve, connect, message):
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

    server = serve(refusing(is_bad, message))
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


OWN = ProviderState("openai/m", {"reasoning_content": True})


def turn(call_id, *before):
    """A message, an answer with a call, and its result."""
    call = ToolCall(call_id, "read_file", {})
    result = ToolResultBlock(call_id, "ok")
    return [Message.user("hi"), Message("assistant", (*before, call)), Message("user", (result,))]


@pytest.mark.parametrize(
    "message",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 2",
        "Missing `reasoning_content` field in the assistant message at message index 3.",
        "litellm.BadRequestError: DeepseekException - The reasoning_content in the thinking mode "
        "must be passed back",
        "思考模式下必须回传 reasoning_content",
        "assistant message must contain reasoning content",
    ],
)
async def test_answers_of_another_model_get_the_reasoning_that_a_server_misses(
    serve, connect, message
):
    def is_bad(body):
        answers = [m for m in json.loads(body)["messages"] if m["role"] == "assistant"]
        return not all(m.get("reasoning_content") for m in answers)

    script = refusing(is_bad, message)
    server = serve(script, extensions=("reasoning_content",))
    history = [*turn("a"), Message.assistant("x"), *turn("b", ThinkingBlock("hm", state=OWN))]
    answered, notices = await ask(connect(server), *history)
    assert (answered, len(notices)) == ("ok", 1)
    sent = server.requests[-1].json["messages"]
    assert sent[-2]["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    "message",
    [
        "Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9.",
        "tool call IDs should be alphanumeric strings with length 9!",
        "messages.1.tool_calls.0.id: String should match pattern '^[a-zA-Z0-9]+$'",
        "Value 'read:0' at 'messages.1.member.toolUseId' failed to satisfy constraint",
    ],
)
async def test_call_ids_of_another_model_are_written_as_a_server_wants_them(
    serve, connect, message
):
    def ids(body):
        calls = [c for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [call["id"] for call in calls]

    def is_bad(body):
        return any(len(one) != 9 or not one.isalnum() for one in ids(json.loads(body)))

    server = serve(refusing(is_bad, message))
    assert (await ask(connect(server), *turn("toolu_01VpEm654"), *turn("read:0")))[0] == "ok"
    sent = server.requests[-1].json
    results = [one["tool_call_id"] for one in sent["messages"] if one["role"] == "tool"]
    assert ids(sent) == results
    assert len(set(results)) == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (500, "tools param requires --jinja flag"),
        (400, "`tool calling` is not supported with this model"),
        (400, "This model does not support function calling"),
        (400, "该模型不支持工具调用"),
        (400, "m does not support parameters: ['tools'], for model=m. To drop these, set"),
        (400, "Function calling is not enabled for this model"),
        (500, "Cannot use tools with this chat template"),
        (400, "Das Modell unterstützt keine Werkzeuge; sie werden nicht unterstützt"),
    ],
)
async def test_model_without_tools_answers_and_the_person_is_told(serve, tmp_path, status, message):
    server = serve(refusing(lambda body: '"tools"' in body, message, status))
    for _ in range(2):  # a server may be started with tools before the next process
        settings = ProviderSettings("openai", server.base_url, "k", {}, {}, home=tmp_path)
        provider = OpenAIProvider(settings)
        answered, notices = await ask(provider, Message.user("hi"))
        await provider.aclose()
        assert answered == "ok"
        assert "cannot be offered tools" in notices[0]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (500, "Jinja Exception: After the optional system message, conversation roles must "
         "alternate user and assistant roles except for tool calls and results."),
        (400, "Please ensure that multi-turn requests alternate between user and model."),
        (400, "Unexpected role 'user' after role 'tool'"),
    ],
)  # fmt: skip
async def test_messages_alternate_for_a_template_that_asks_for_it(serve, connect, status, message):
    def is_bad(body):
        said = [m["role"] for m in json.loads(body)["messages"] if not m.get("tool_calls")]
        said = [role for role in said if role != "tool"]
        return any(one == other for one, other in pairwise(said))

    server = serve(refusing(is_bad, message, status))
    history = [Message.user("a"), Message.user("b"), *turn("c"), Message.user("d")]
    assert (await ask(connect(server), *history))[0] == "ok"


@pytest.mark.parametrize(
    "message",
    [
        "System role not supported",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "system message is not supported by this model",
        "Only user and assistant roles are supported!",
        "Role 'system' not allowed",
        "System messages are not supported: write the text into the first message",
    ],
)
async def test_system_message_is_sent_as_the_first_one_where_it_is_refused(serve, connect, message):
    server = serve(refusing(lambda body: '"system"' in body, message))
    provider = connect(server)
    request = ModelRequest("openai/m", "Be kind.", (), (Message.user("hi"),))
    assert (await provider.send(provider.render(request), None)).text == "ok"
    roles = [(m["role"], m["content"]) for m in server.requests[-1].json["messages"]]
    assert roles == [("user", "Be kind."), ("assistant", "(empty)"), ("user", "hi")]


@pytest.mark.parametrize(
    "message",
    ["System message must be at the beginning.", "Unexpected role 'system' after role 'system'"],
)
async def test_two_system_messages_are_joined_where_a_server_takes_one(serve, connect, message):
    server = serve(refusing(lambda body: body.count('"system"') > 1, message))
    provider = connect(server)
    request = ModelRequest("openai/m", "Be kind.", (), (Message.user("hi"),), ephemeral="Only now.")
    assert (await provider.send(provider.render(request), None)).text == "ok"
    system, *others = server.requests[-1].json["messages"]
    assert system == {"role": "system", "content": "Be kind.\n\nOnly now."}
    assert [one["role"] for one in others] == ["user"]


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
