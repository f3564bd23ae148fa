"""The fake server refuses what the real service refuses, with its status and error shape."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from support.openai_server import OpenAIServer

USER = {"role": "user", "content": "hi"}
FUNCTION = {"name": "look", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}


def call(call_id="c1", name="look", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(call_id="c1"):
    return {"role": "tool", "tool_call_id": call_id, "content": "done"}


def image(url):
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def post(body, path="/chat/completions", **headers):
    with OpenAIServer(lambda _: "ok") as server:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": "Bearer k", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(server.base_url + path, raw, sent)
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


CONVERSATIONS = {
    "no messages": ([], "empty array"),
    "an unknown role": ([{"role": "robot", "content": "hi"}], "Supported values"),
    "content null": ([{"role": "user", "content": None}], "expected a string, got null"),
    "no parts": ([{"role": "user", "content": []}], "empty array"),
    "an unknown part": ([{"role": "user", "content": [{"type": "video"}]}], "Invalid value"),
    "a bad image": ([image("data:image/png;base64,###")], "Invalid image"),
    "an image of another type": ([image("data:image/bmp;base64,aaaa")], "Invalid image"),
    "a local image": ([image("file:///etc/passwd")], "Invalid image"),
    "a part with a stranger": ([USER | {"cache_control": {}}], "Unknown parameter"),
    "an empty assistant": ([{"role": "assistant", "content": None}], "expected a string"),
    "no calls": ([USER, assistant()], "empty array"),
    "unanswered": ([USER, assistant(call())], "did not have response messages: c1"),
    "answered in part": ([USER, assistant(call(), call("c2")), result()], "messages: c2"),
    "answered late": ([USER, assistant(call()), USER, result()], "must be followed"),
    "answered twice": ([USER, assistant(call()), result(), result()], "must be a response"),
    "orphaned": ([USER, result()], "must be a response"),
    "duplicate ids": ([USER, assistant(call(), call()), result()], "Duplicate"),
    "an id too long": ([USER, assistant(call("c" * 41)), result("c" * 41)], "too long"),
    "an object": ([USER, assistant(call(arguments={})), result()], "expected a string"),
    "a bad name": ([USER, assistant(call(name="a b")), result()], "does not match pattern"),
    "no type": ([USER, assistant({"id": "c1"}), result()], "Missing required parameter"),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_fake_server_refuses_invalid_conversations(name):
    messages, told = CONVERSATIONS[name]
    status, body = post({"model": "m", "messages": messages})
    assert status == 400
    assert told in body["error"]["message"]
    assert body["error"]["type"] == "invalid_request_error"
    assert set(body["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tools": []}, "empty array"),
        ({"tools": [TOOL, TOOL]}, "unique"),
        ({"tools": [{"type": "function", "function": FUNCTION | {"name": "a.b"}}]}, "pattern"),
        ({"tools": [{"type": "function", "function": FUNCTION | {"name": "a" * 65}}]}, "long"),
        ({"tools": [{"type": "function", "function": FUNCTION | {"parameters": {}}}]}, "Schema"),
        ({"tools": [{"function": FUNCTION}]}, "Missing required parameter: 'tools[0].type'"),
        ({"tool_choice": "auto"}, "only allowed when 'tools'"),
        ({"n": 0}, "below minimum"),
        ({"n": 1000}, "above maximum"),
        ({"max_tokens": 0}, "below minimum"),
        ({"max_completion_tokens": "many"}, "below minimum"),
        ({"temperature": 3}, "temperature"),
        ({"stream_options": {}}, "only allowed when 'stream'"),
        ({"top_k": 5}, "Unknown parameter"),
        ({"model": ""}, "model parameter"),
    ],
)
def test_fake_server_refuses_unknown_fields(fields, told):
    status, body = post({"model": "m", "messages": [USER]} | fields)
    assert status == 400
    assert told in body["error"]["message"]


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([], "Missing required parameter"),
        ([{"type": "function_call_output", "call_id": "c", "output": "x"}], "No tool call found"),
        (
            [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
            "No tool output",
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "Supported values"),
        ([{"role": "robot", "content": "x"}], "Supported values"),
    ],
)
def test_fake_server_refuses_invalid_input(items, told):
    status, body = post({"model": "m", "input": items}, "/responses")
    assert status == 400
    assert told in body["error"]["message"]


@pytest.mark.parametrize(
    ("body", "headers", "status", "told"),
    [
        (b"{}", {"Authorization": ""}, 401, "didn't provide an API key"),
        (b"{}", {"Authorization": "Bearer  "}, 401, "didn't provide an API key"),
        (b"{}", {"Authorization": "Basic abc"}, 401, "didn't provide an API key"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "Unsupported content type"),
        (b"{", {}, 400, "could not parse the JSON body"),
        (b"[]", {}, 400, "could not parse the JSON body"),
        (b'{"a": "\xff"}', {}, 400, "could not parse the JSON body"),
        (b'{"n": NaN}', {}, 400, "could not parse the JSON body"),
    ],
)
def test_fake_server_refuses_invalid_bytes_and_headers(body, headers, status, told):
    found, answer = post(body, **headers)
    assert found == status
    assert told in answer["error"]["message"]


def test_fake_server_knows_no_other_addresses():
    status, body = post({}, "/completions")
    assert status == 404
    assert "Invalid URL" in body["error"]["message"]


def test_fake_server_accepts_a_valid_conversation():
    messages = [USER, assistant(call("c1"), call("c2")), result("c2"), result("c1")]
    tools = {"tools": [TOOL], "tool_choice": "auto", "max_tokens": 1}
    status, body = post({"model": "m", "messages": messages} | tools)
    assert status == 200
    assert body["choices"][0]["message"]["content"] == "ok"
