"""What small models and the servers that people run themselves send instead of the API."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    Message,
    ModelRequest,
    ProviderError,
    RateLimited,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolSchema,
)
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
        '[{"path": "a\\nb"}]',
        'json\n{"path": "a\\nb"}',
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
    '[TOOL_CALLS]read_file{"path": "a.py"}',
    '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    '{"path": "a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    '<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.py"}<｜tool▁call▁end｜>',
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
    '<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|><|tool_calls_section_end|>',
    "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
    '{"path": "a.py"}<|call|>',
    '<function_calls><invoke name="read_file"><parameter name="path">a.py</parameter></invoke>',
    '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}',
    '<function=read_file>{"path": "a.py"}</function>',
    '{"name": "read_file", "arguments": {"path": "a.py"}}',
    '```json\n{"name": "read_file", "parameters": {"path": "a.py"}}\n```',
    '[{"function": {"name": "read_file", "arguments": {"path": "a.py"}}}]',
]


PROSE = [
    ("I'll read the file first.\n\n", "```json\n{}\n```", ""),
    ("Here is the function call:\n", "```\n{}\n```", "\nPlease wait for the result."),
    ("Ich lese die Datei.\n", "{}", ""),
    ("我先读取文件。\n", "```json\n{}\n```", "\n"),
    ("Using `read_file`:\n", "```tool_call\n{}\n```", ""),
    ("", "```json\n{}\n```", "\nThis reads a.py."),
]
OBJECTS = [
    '{"name": "read_file", "arguments": {"path": "a.py"}}',
    '{\n  "tool": "read_file",\n  "parameters": {\n    "path": "a.py"\n  }\n}',
    '[{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.py"}}}]',
    '{"tool_call": {"name": "read_file", "arguments": {"path": "a.py"}}}',
    '{"tool": "read_file", "path": "a.py"}',
    '{"read_file": {"path": "a.py"}}',
]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("prose", PROSE)
@pytest.mark.parametrize("call", OBJECTS)
async def test_call_in_json_with_prose_around_it_is_a_call(serve, connect, prose, call, stream):
    before, frame, after = prose
    text = before + frame.replace("{}", call) + after
    response, shown = await answer(serve, connect, Reply(text, piece=3), stream=stream)
    [said] = [block.text for block in response.blocks if isinstance(block, TextBlock)] or [""]
    called = [b for b in response.blocks if isinstance(b, ToolCall)]
    assert [(one.name, one.arguments) for one in called] == [("read_file", CALL)]
    assert said.split() == (before + after).split()
    assert shown.strip() == before.strip()


NO_CALLS = [
    "For example:\n```json\n{}\n```",
    "You can write\n{}\nto read a file.",
    "Zum Beispiel so:\n```json\n{}\n```",
    "例如:\n```json\n{}\n```",
    "One:\n```json\n{}\n```\nTwo:\n```json\n{}\n```",
    "The file holds this.\n```json\n{}\n```\nThe first key names it.\nThe second one does not.",
    'First `{"a": 1}`, then\n```json\n{}\n```',
    "A file of mine:\n```json\n{} // done\n```",
    "Let me explain. " + "The runtime reads what the model wrote. " * 20 + "\n```json\n{}\n```",
    "It says {} there.",
]
OTHERS = [
    '{"name": "remove_file", "arguments": {"path": "a.py"}}',
    '{"name": "read_file", "arguments": {"file": "a.py"}}',
    '{"name": "read_file", "arguments": {"path": 5}}',
    '{"name": "read_file", "version": "1.0.0", "main": "a.js"}',
    '{"path": "a.py"}',
]


@pytest.mark.parametrize(
    "text",
    [*(text.replace("{}", OBJECTS[0]) for text in NO_CALLS)]
    + [f"I read it.\n```json\n{other}\n```" for other in OTHERS],
)
async def test_json_that_an_answer_only_shows_stays_text(serve, connect, text):
    response, shown = await answer(serve, connect, Reply(text, piece=3))
    assert response.blocks == (TextBlock(text),)
    assert shown == text


async def test_code_that_is_no_call_is_shown_as_it_comes(serve, connect):
    text = 'Two files.\n```json\n{"name": "app", "version": "1"}\n```\nand\n```sh\nls\n```\nDone.'
    provider = connect(serve([Reply(text, piece=3)]))
    pieces = []
    await provider.send(provider.render(ASK), lambda delta: pieces.append(delta.text))
    assert max(map(len, pieces)) < 45


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
        "<Think>\nhm</THINK>yes",
        "<seed:think>\nhm</seed:think>yes",
        "<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>yes<|end_of_solution|>",
        "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes",
        "<|channel>thought\nhm<channel|>yes",
        "<unused94>thought\nhm<unused95>yes",
    ],
)
async def test_thinking_in_tags_is_thinking(serve, connect, text, size):
    response, shown = await answer(serve, connect, Reply(text, piece=size))
    thinking, answered = response.blocks
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.text.strip() == "hm"
    assert answered.text.strip() == shown.strip() == "yes"


async def test_thinking_whose_begin_was_in_the_prompt_is_thinking(serve, connect):
    for text in ("hm\n</think>\n\nyes", "hm</think>\n\nyes"):
        response, _ = await answer(serve, connect, Reply(text))
        assert response.blocks == (ThinkingBlock("hm"), TextBlock("yes"))


async def test_tags_within_an_answer_are_text(serve, connect):
    for text in (
        "Use <think>…</think> for it; `</think>` ends it.",
        "Write <think>…</think>\n\nand then the answer.",
        "It ends with `</think>`\n\nand a blank line.",
    ):
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


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("both", [True, False])
async def test_answer_with_the_old_function_call_is_a_call(serve, connect, stream, both):
    old = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    new = [{"index": 0, "id": "c", "type": "function", "function": old}] if both else None
    if stream:
        first = old | {"arguments": '{"path"'}
        pieces = [chunk(function_call=first), chunk(function_call={"arguments": ': "a.py"}'})]
        if both:
            pieces[0]["choices"][0]["delta"]["tool_calls"] = new
        reply = Reply(chunks=[*pieces, chunk("function_call"), DONE])
    else:
        message = {"role": "assistant", "content": None, "function_call": old, "tool_calls": new}
        reply = Reply(body={"choices": [{"message": message, "finish_reason": "function_call"}]})
    response, _ = await answer(serve, connect, reply, stream=stream)
    [call] = response.blocks
    assert (call.name, call.arguments, response.stop) == ("read_file", CALL, "tools")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (
            {
                "choices": None,
                "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"},
            },
            RateLimited,
            "no credit left for m (402: insufficient balance)",
        ),
        (
            {
                "id": "1",
                "choices": [],
                "base_resp": {"status_code": 1004, "status_msg": "login fail"},
            },
            AuthError,
            "login fail",
        ),
        (
            {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
            RateLimited,
            "rate limit",
        ),
        (
            {
                "choices": [],
                "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"},
            },
            BadRequest,
            "refused the content of the request",
        ),
        (
            {"base_resp": {"status_code": 2013, "status_msg": "context window exceeds limit"}},
            ContextTooLong,
            "/compact",
        ),
        ({"base_resp": {"status_code": 9999, "status_msg": "odd"}}, ProviderError, "odd"),
        ({"code": 10013, "message": "input is bad"}, ProviderError, "input is bad"),
        ({"error_code": 17, "error_msg": "no quota today"}, ProviderError, "no quota today"),
        ({"success": False, "msg": "try later"}, ProviderError, "try later"),
    ],
)
async def test_error_in_an_answer_of_status_200_is_an_error(
    serve, connect, stream, body, kind, says
):
    reply = Reply(chunks=[body, DONE]) if stream else Reply(body=body)
    with pytest.raises(kind) as caught:
        await answer(serve, connect, reply, stream=stream)
    assert says in str(caught.value)


async def test_base_resp_that_says_success_is_no_error(serve, connect):
    done = chunk("stop", content="yes") | {"base_resp": {"status_code": 0, "status_msg": ""}}
    response, _ = await answer(serve, connect, Reply(chunks=[done, DONE]))
    assert response.text == "yes"


@pytest.mark.parametrize(
    "end",
    [
        chunk("content_filter"),
        chunk("SAFETY"),
        chunk("content_filter: PROHIBITED_CONTENT"),
        chunk("stop") | {"output_sensitive": True},
    ],
)
async def test_stop_by_a_content_filter_is_a_refusal(serve, connect, end):
    response, _ = await answer(serve, connect, Reply(chunks=[end, DONE]))
    assert (response.blocks, response.stop) == ((), "refusal")
