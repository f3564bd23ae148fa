"""What small models and the servers that people run themselves send instead of the API."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import Message, ModelRequest, TextBlock, ThinkingBlock, ToolCall, ToolSchema
from support.openai_server import Reply, Use

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
}
READ = ToolSchema("read_file", "Read a file.", SCHEMA)
ASK = ModelRequest("openai/m", "", (READ,), (Message.user("hi"),))
DONE = "data: [DONE]\n\n"


def chunk(finish=None, **delta):
    return {"id": "c-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index=None, call_id=None, name=None, arguments=None):
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    call = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in call.items() if value is not None}


async def answer(serve, connect, reply, request=ASK, **options):
    """The response, and the text that was shown while it came."""
    provider = connect(serve([reply]), **options)
    shown = []
    response = await provider.send(provider.render(request), shown.append)
    return response, "".join(delta.text for delta in shown if delta.kind == "text")


BOUNDARIES = {
    "every index is 0 and no ids": [
        [piece(0, name="read", arguments='{"n":1}')],
        [piece(0, name="read", arguments='{"n":2}')],
    ],
    "one id for two": [
        [piece(0, "x", "read", '{"n":1}')],
        [piece(0, "x", "read", '{"n":'), piece(0, arguments="2}")],
    ],
    "one id for two, no index": [
        [piece(None, "x", "read", '{"n":1}')],
        [piece(None, "x", "read", '{"n":2}')],
    ],
    "both in one piece": [[piece(0, name="read", arguments='{"n":1}{"n":2}')]],
    "both in one chunk": [[piece(0, "", "read", '{"n":1}'), piece(0, "", "read", '{"n":2}')]],
    "arguments in pieces": [
        [piece(0, name="read", arguments='{"n"')],
        [piece(0, arguments=":1}")],
        [piece(0, name="read", arguments="")],
        [piece(0, arguments='{"n":2}')],
    ],
}


@pytest.mark.parametrize("name", BOUNDARIES)
async def test_calls_without_boundaries_are_told_apart(serve, connect, name):
    stream = [chunk(tool_calls=pieces) for pieces in BOUNDARIES[name]]
    response, _ = await answer(serve, connect, Reply(chunks=[*stream, chunk("tool_calls"), DONE]))
    assert [(call.name, call.arguments) for call in response.blocks] == [
        ("read", {"n": 1}),
        ("read", {"n": 2}),
    ]
    assert len({call.id for call in response.blocks}) == 2


async def test_whole_call_that_is_sent_again_is_one_call(serve, connect):
    stream = [chunk(tool_calls=[piece(0, "x", "read", '{"n":1}')])] * 2
    response, _ = await answer(serve, connect, Reply(chunks=[*stream, chunk("tool_calls"), DONE]))
    assert response.blocks == (ToolCall("x", "read", {"n": 1}),)


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        '{}{"path": "a\\nb"}',
        json.dumps('{"path": "a\\nb"}'),
        '```json\n{"path": "a\\nb"}\n```',
        '{"path": "a\nb"}',
        '{"path": "a\\nb"}</tool_call>',
        '{"path": "a\\nb"}<|im_end|>',
        "{'path': 'a\\nb'}",
        '{"path": "a\\nb",}',
        '{path: "a\\nb"}',
        '{"path": "a\\nb"}}',
        '\ufeff{"path": "a\\nb"}',
    ],
)
async def test_nearly_json_arguments_are_read(serve, connect, arguments, stream):
    reply = Reply(None, [Use("read_file", arguments)])
    response, _ = await answer(serve, connect, reply, stream=stream)
    [call] = response.blocks
    assert (call.arguments, call.error) == ({"path": "a\nb"}, None)


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "a', '{"path": "f() { return 1; }', '{"path": "a", "x": [1}', "{'path': 'it's'}"],
)
async def test_arguments_that_may_be_cut_are_not_guessed(serve, connect, arguments):
    response, _ = await answer(serve, connect, Reply(None, [Use("read_file", arguments)]))
    assert "not JSON" in response.blocks[0].error


CALL = {"path": "a.py"}
WRITTEN = [
    '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
    '<tool_call>{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}',
    "<tool_call><function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function></tool_call>",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value></tool_call>",
    '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
    '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}',
    '<function=read_file>{"path": "a.py"}</function>',
    '{"name": "read_file", "arguments": {"path": "a.py"}}',
    '```json\n{"name": "read_file", "parameters": {"path": "a.py"}}\n```',
    '[{"function": {"name": "read_file", "arguments": {"path": "a.py"}}}]',
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", WRITTEN)
async def test_calls_written_as_text_are_calls(serve, connect, text, stream):
    response, shown = await answer(serve, connect, Reply(text, piece=3), stream=stream)
    [call] = response.blocks
    assert (call.name, call.arguments) == ("read_file", CALL)
    assert response.stop == "tools"
    assert shown == ""


async def test_text_before_a_written_call_is_kept_and_shown(serve, connect):
    text = f"Let me look.\n{WRITTEN[0]}\n{WRITTEN[0]}"
    response, shown = await answer(serve, connect, Reply(text, piece=3))
    assert response.blocks[0] == TextBlock("Let me look.")
    assert [call.arguments for call in response.blocks[1:]] == [CALL, CALL]
    assert shown.strip() == "Let me look."


async def test_written_values_get_the_type_of_the_schema(serve, connect):
    text = (
        "<tool_call><function=read_file><parameter=path>1</parameter>"
        "<parameter=lines>2</parameter></function></tool_call>"
    )
    response, _ = await answer(serve, connect, Reply(text))
    assert response.blocks[0].arguments == {"path": "1", "lines": 2}


@pytest.mark.parametrize(
    "text",
    [
        f"Models write `{WRITTEN[0]}` to call a tool.",
        f"An example:\n```\n{WRITTEN[0]}\n```\n",
        '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
        '{"name": "Ada", "arguments": {"for": "it"}}',
        '{"path": "a.py"}',
        "a < b and [c] <tool",
        "```json\n[1, 2]\n```\nis a list",
    ],
)
async def test_text_that_calls_nothing_stays_text(serve, connect, text):
    response, shown = await answer(serve, connect, Reply(text, piece=3))
    assert response.blocks == (TextBlock(text),)
    assert shown == text


async def test_written_calls_are_text_if_switched_off_or_without_tools(serve, connect):
    response, _ = await answer(serve, connect, Reply(WRITTEN[0]), text_tool_calls="off")
    assert response.text == WRITTEN[0]
    alone = ModelRequest("openai/m", "", (), (Message.user("hi"),))
    response, _ = await answer(serve, connect, Reply(WRITTEN[0]), alone)
    assert response.text == WRITTEN[0]


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize(
    "text",
    [
        "<think>\nhm</think>\n\nyes",
        "\n<think>\nhm</think>yes",
        "<thought>\nhm</thought>yes",
        "[THINK]\nhm[/THINK]yes",
        "◁think▷\nhm◁/think▷yes",
    ],
)
async def test_thinking_in_tags_is_thinking(serve, connect, text, size):
    response, shown = await answer(serve, connect, Reply(text, piece=size))
    thinking, answered = response.blocks
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.text.strip() == "hm"
    assert answered.text.strip() == shown.strip() == "yes"


async def test_thinking_whose_begin_was_in_the_prompt_is_thinking(serve, connect):
    response, _ = await answer(serve, connect, Reply("hm\n</think>\n\nyes"))
    assert response.blocks == (ThinkingBlock("hm"), TextBlock("yes"))


async def test_tags_within_an_answer_are_text(serve, connect):
    text = "Use <think>…</think> for it; `</think>` ends it."
    response, shown = await answer(serve, connect, Reply(text))
    assert response.blocks == (TextBlock(text),)
    assert shown == text


WHOLE = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})


@pytest.mark.long
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "text/event-stream"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n"])
async def test_json_is_read_under_any_content_type(serve, connect, stream, kind, begin):
    reply = Reply(body=(begin + WHOLE).encode(), headers={"content-type": kind})
    response, _ = await answer(serve, connect, reply, stream=stream)
    assert response.text == "yes"


@pytest.mark.parametrize("stream", [True, False])
async def test_stream_is_read_under_any_content_type(serve, connect, stream):
    body = f"data: {json.dumps(chunk('stop', content='yes'))}\n\n{DONE}".encode()
    reply = Reply(body=body, headers={"content-type": "text/plain"})
    response, _ = await answer(serve, connect, reply, stream=stream)
    assert response.text == "yes"
