"""Streams and tool calls as servers and proxies really send them, and errors within streams."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import Message, ModelRequest, ProviderError, ToolSchema
from support.openai_server import Reply

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
ASK = ModelRequest("openai/m", "", (ToolSchema("read", "R.", SCHEMA),), (Message.user("hi"),))
TEXT = "Grüß 你好 👋"
DONE = "data: [DONE]\n\n"


def chunk(finish=None, **delta):
    return {"id": "c-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def data(value):
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def piece(index=None, call_id=None, name=None, arguments=None):
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    call = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in call.items() if value is not None}


async def answer(serve, connect, events):
    provider = connect(serve([Reply(chunks=events)]))
    return await provider.send(provider.render(ASK), lambda _delta: None)


HELLO, STOP = data(chunk(content=TEXT)), data(chunk("stop"))
ANSWERS = {
    "crlf": [HELLO.replace("\n", "\r\n"), STOP.replace("\n", "\r\n"), "data: [DONE]\r\n\r\n"],
    "cr": [HELLO.replace("\n", "\r"), STOP.replace("\n", "\r"), "data: [DONE]\r\r"],
    "comments": [": OPENROUTER PROCESSING\n\n", HELLO, ": keep-alive\n\n:\n\n", STOP, DONE],
    "ping event": [
        "event: ping\ndata: {}\n\n",
        HELLO,
        'event: ping\ndata: {"type": "ping"}\n\n',
        STOP,
        DONE,
    ],
    "split utf8": [*(bytes([byte]) for byte in HELLO.encode()), STOP, DONE],
    "no space": [
        HELLO.replace("data: ", "data:"),
        STOP.replace("data: ", "data:"),
        "data:[DONE]\n\n",
    ],
    "id retry": ["id: 1\nretry: 3000\n" + HELLO, STOP, DONE],
    "empty data": ["data: \n\n", "data:\n\n", HELLO, STOP, DONE],
    "null choices": [
        data({"id": "x", "choices": None}),
        HELLO,
        STOP,
        data({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
        DONE,
    ],
    "azure prompt filter": [
        data({"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        HELLO,
        STOP,
        DONE,
    ],
    "delta null": [data({"choices": [{"index": 0, "delta": None}]}), HELLO, STOP, DONE],
    "last event no blank line": [HELLO, STOP, "data: [DONE]"],
    "done event twice": [HELLO, STOP, DONE, DONE],
    "error null": [data(chunk(content=TEXT) | {"error": None}), STOP, DONE],
    "message in stream": [
        data({"choices": [{"index": 0, "message": {"content": TEXT}, "finish_reason": "stop"}]}),
        DONE,
    ],
    "content parts": [data(chunk(content=[{"type": "text", "text": TEXT}])), STOP, DONE],
    "whole json at once pretty": [
        json.dumps({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}, indent=2)
    ],
    "bom stream": ["\ufeff" + HELLO, STOP, DONE],
    "multi-line data": [
        'data: {"choices": [{"index": 0, "delta": \ndata: {"content": "' + TEXT + '"}}]}\n\n',
        STOP,
        DONE,
    ],
    "two choices": [
        data(
            {
                "choices": [
                    {"index": 0, "delta": {"content": TEXT}},
                    {"index": 1, "delta": {"content": "other"}},
                ]
            }
        ),
        STOP,
        DONE,
    ],
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_stream_is_read_as_it_comes(serve, connect, name):
    response = await answer(serve, connect, ANSWERS[name])
    assert (response.text, response.stop) == (TEXT, "end")


ERRORS = {
    "event error": (
        [HELLO, 'event: error\ndata: {"error": {"message": "upstream died", "code": 502}}\n\n'],
        "upstream died",
    ),
    "event error plain": ([HELLO, "event: error\ndata: upstream died\n\n"], "upstream died"),
    "event error detail": (
        [HELLO, 'event: error\ndata: {"detail": "upstream died"}\n\n'],
        "upstream died",
    ),
    "event error type": (
        [
            HELLO,
            'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", '
            '"message": "upstream died"}}\n\n',
        ],
        "upstream died",
    ),
    "data error string": ([HELLO, 'data: {"error": "upstream died"}\n\n', DONE], "upstream died"),
    "llama error line": (
        [HELLO, 'error: {"code":500,"message":"upstream died","type":"server_error"}\n\n'],
        "upstream died",
    ),
    "object error": (
        [HELLO, data({"object": "error", "message": "upstream died", "code": 40303}), DONE],
        "upstream died",
    ),
    "choice error": (
        [
            HELLO,
            data(
                {
                    "choices": [
                        {
                            "index": 0,
                            "delta": {"content": ""},
                            "finish_reason": "error",
                            "error": {"code": 502, "message": "upstream died"},
                        }
                    ]
                }
            ),
            DONE,
        ],
        "upstream died",
    ),
    "plain data": ([HELLO, "data: Internal error: upstream died\n\n"], "upstream died"),
    "html mid stream": (
        [HELLO, "<html><body><h1>502 Bad Gateway upstream died</h1></body></html>"],
        None,
    ),
    "truncated json": ([HELLO, 'data: {"choices": [{"index": 0, "delta": {"cont'], None),
    "html first": (["<html><head><title>502 upstream died</title></head></html>"], "upstream died"),
    "array error": (
        [
            json.dumps(
                [{"error": {"code": 400, "message": "upstream died", "status": "INVALID_ARGUMENT"}}]
            )
        ],
        "upstream died",
    ),
    "array error data": (
        [
            data(
                [{"error": {"code": 400, "message": "upstream died", "status": "INVALID_ARGUMENT"}}]
            )
        ],
        "upstream died",
    ),
    "errors list": (
        [data({"errors": [{"message": "upstream died", "code": 5007}]})],
        "upstream died",
    ),
    "errors list body": (
        [
            json.dumps(
                {
                    "success": False,
                    "result": None,
                    "errors": [{"message": "upstream died", "code": 5007}],
                }
            )
        ],
        "upstream died",
    ),
    "plain text": (["upstream died"], "upstream died"),
    "empty": ([], None),
    "only done": ([DONE], None),
    "metadata raw": (
        [
            data(
                {
                    "error": {
                        "message": "Provider returned error",
                        "code": 502,
                        "metadata": {"raw": "upstream died", "provider_name": "X"},
                    }
                }
            )
        ],
        "upstream died",
    ),
    "nested json text": (
        [
            data(
                {
                    "error": {
                        "message": json.dumps({"error": {"code": 400, "message": "upstream died"}}),
                        "code": 400,
                    }
                }
            )
        ],
        "upstream died",
    ),
    "dashscope": (
        [json.dumps({"code": "InvalidParameter", "message": "upstream died", "request_id": "1"})],
        "upstream died",
    ),
    "baidu": (
        [data({"error_code": 336003, "error_msg": "upstream died", "id": "as"})],
        "upstream died",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
async def test_error_in_a_stream_is_told_in_the_words_of_the_server(serve, connect, name):
    events, says = ERRORS[name]
    if says is None and events and events[0] == HELLO:
        assert (await answer(serve, connect, events)).stop == "incomplete"
        return
    with pytest.raises(ProviderError) as caught:
        await answer(serve, connect, events)
    assert (says or "empty") in str(caught.value)


CALLS = {
    "index strings": [[piece("0", "a", "read", '{"n":1}')], [piece("1", "b", "read", '{"n":2}')]],
    "index 1-based": [[piece(1, "a", "read", '{"n":1}')], [piece(2, "b", "read", '{"n":2}')]],
    "name last": [
        [piece(0, "a", None, '{"n":1}')],
        [piece(0, None, "read", "")],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "arguments null first": [
        [
            {
                "index": 0,
                "id": "a",
                "type": "function",
                "function": {"name": "read", "arguments": None},
            }
        ],
        [piece(0, None, None, '{"n":1}')],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "name null later": [
        [piece(0, "a", "read", "")],
        [{"index": 0, "id": None, "function": {"name": None, "arguments": '{"n":1}'}}],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "empty id and name later": [
        [piece(0, "a", "read", "")],
        [{"index": 0, "id": "", "function": {"name": "", "arguments": '{"n":1}'}}],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "interleaved": [
        [piece(0, "a", "read", '{"n"')],
        [piece(1, "b", "read", '{"n"')],
        [piece(0, None, None, ":1}")],
        [piece(1, None, None, ":2}")],
    ],
    "dict instead of list": [
        {"index": 0, "id": "a", "function": {"name": "read", "arguments": '{"n":1}'}},
        {"index": 1, "id": "b", "function": {"name": "read", "arguments": '{"n":2}'}},
    ],
    "cumulative args": [
        [piece(0, "a", "read", '{"n"')],
        [piece(0, "a", "read", '{"n":1}')],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "object args": [[piece(0, "a", "read", {"n": 1})], [piece(1, "b", "read", {"n": 2})]],
    "flat call": [
        [{"index": 0, "id": "a", "name": "read", "arguments": '{"n":1}'}],
        [{"index": 1, "id": "b", "name": "read", "arguments": {"n": 2}}],
    ],
    "no type, custom": [
        [{"index": 0, "id": "a", "type": "", "function": {"name": "read", "arguments": '{"n":1}'}}],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "parameters key": [
        [{"index": 0, "id": "a", "function": {"name": "read", "parameters": {"n": 1}}}],
        [{"index": 1, "id": "b", "function": {"name": "read", "parameters": {"n": 2}}}],
    ],
    "padding call": [
        [piece(0, "a", "read", '{"n":1}')],
        [piece(1, "b", "read", '{"n":2}')],
        [piece(0, None, None, "")],
        [{}],
        [None],
    ],
    "id repeated in each": [
        [piece(0, "a", "read", "")],
        [piece(0, "a", None, '{"n"')],
        [piece(0, "a", None, ":1}")],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "trailing newline args": [
        [piece(0, "a", "read", '{"n":1}')],
        [piece(0, None, None, "\n")],
        [piece(1, "b", "read", '{"n":2}')],
    ],
    "second null args": [
        [piece(0, "a", "read", '{"n":1}')],
        [piece(1, "b", "read", '{"n":2}')],
        [{"index": 1, "function": {"arguments": None}}],
    ],
}


@pytest.mark.parametrize("name", CALLS)
async def test_two_calls_are_read_from_odd_pieces(serve, connect, name):
    stream = [data(chunk(tool_calls=pieces)) for pieces in CALLS[name]]
    response = await answer(serve, connect, [*stream, data(chunk("tool_calls")), DONE])
    assert [(call.name, call.arguments, call.error) for call in response.blocks] == [
        ("read", {"n": 1}, None),
        ("read", {"n": 2}, None),
    ]
