"""The fake server is as strict as the API; the other tests rely on that."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from support.anthropic_server import AnthropicServer, seal

SIGNED = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
HELLO = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
MARK = {"cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def post(
    server: AnthropicServer, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"))
    try:
        given = SIGNED if headers is None else headers
        connection.request("POST", "/v1/messages", json.dumps(body), given)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def body(*messages: Any, **changes: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 2000, "messages": list(messages) or [HELLO]} | changes


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


FIVE = [text(str(n), **MARK) for n in range(5)]
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": seal("hm")}
BUDGET = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    ("request_body", "told"),
    [
        ({"model": "m", "messages": [HELLO]}, "max_tokens: Field required"),
        (body(temperature=1), "temperature: Extra inputs are not permitted"),
        (body(messages=[]), "at least one message"),
        (body(assistant(text("x"))), 'must use the "user" role'),
        (body({"role": "system", "content": "x"}, HELLO), 'must use the "user" role'),
        (body(HELLO, assistant(CALL)), "were found without `tool_result` blocks"),
        (body(HELLO, assistant(CALL), HELLO), "were found without `tool_result` blocks"),
        (body(HELLO, assistant(CALL), user(text("x"), RESULT)), "were found without"),
        (body(user(RESULT)), "unexpected `tool_use_id`"),
        (body(HELLO, assistant(CALL, CALL), user(RESULT)), "ids must be unique"),
        (
            body(HELLO, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
            "ids must be unique",
        ),
        (body(user(text(""))), "must be non-empty"),
        (body(user(text(" \n"))), "must contain non-whitespace text"),
        (body(user()), "must have non-empty content"),
        (body(HELLO, assistant(), HELLO), "must have non-empty content"),
        (body(HELLO, assistant(text("x "))), "trailing whitespace"),
        (body(user(*FIVE)), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (body(HELLO, assistant(THOUGHT | MARK, text("x")), HELLO), "thinking.cache_control: Extra"),
        (body(user(text("", **MARK))), "cannot be set for empty text blocks"),
        (body(user(text("a", **MARK), text("b", **HOUR))), "must not come after a ttl='5m'"),
        (body(tools=[TOOL | {"name": "a b"}]), "tools.0.custom.name: String should match"),
        (body(tools=[TOOL, TOOL]), "Tool names must be unique"),
        (body(tools=[{"name": "look"}]), "input_schema: Field required"),
        (body(tools=[TOOL | {"input_schema": {"type": "array"}}]), "input_schema.type"),
        (body(tool_choice={"type": "none"}), "only be specified while providing tools"),
        (body(HELLO, assistant(CALL | {"id": "a.b"}), HELLO), "'^[a-zA-Z0-9_-]+$'"),
        (body(HELLO, assistant(CALL | {"name": ""}), user(RESULT)), "tool_use.name"),
        (body(HELLO, assistant(THOUGHT | {"thinking": "no"}, text("x")), HELLO), "`signature`"),
        (body(HELLO, assistant({"type": "redacted_thinking", "data": "x"}), HELLO), "`data`"),
        (body(HELLO, assistant(THOUGHT), HELLO), "cannot be `thinking`"),
        (body(user({"type": "video"})), "Input tag 'video'"),
        (
            body(HELLO, assistant(CALL), user(RESULT | {"is_error": True, "content": []})),
            "content cannot be empty if `is_error` is true",
        ),
        (body(thinking=BUDGET, max_tokens=1024), "must be greater than `thinking.budget_tokens`"),
        (body(HELLO, assistant(CALL), user(RESULT), thinking=BUDGET), "but found `tool_use`"),
        ("hello", "not valid JSON"),
    ],
)
def test_fake_server_refuses_with_the_real_text(request_body: Any, told: str) -> None:
    with AnthropicServer(["never"]) as server:
        status, answer = post(server, request_body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert told in answer["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"anthropic-version": "1"}, 401),
        ({"anthropic-version": "1", "authorization": "Bearer "}, 401),
        ({"anthropic-version": "1", "x-api-key": "wrong"}, 401),
        ({"x-api-key": "k"}, 400),
        ({"anthropic-version": "1", "x-api-key": "k"}, 200),
        ({"anthropic-version": "1", "authorization": "Bearer k"}, 200),
    ],
)
def test_fake_server_checks_the_key(headers: dict[str, str], status: int) -> None:
    with AnthropicServer(["hello"], key="k") as server:
        assert post(server, body(), headers)[0] == status


@pytest.mark.parametrize(
    "messages",
    [
        (HELLO, HELLO),
        (HELLO, assistant(THOUGHT, CALL), user(RESULT), user(text("and?"))),
        (HELLO, assistant(text("so"))),
        ({"role": "user", "content": "hello"},),
    ],
)
def test_fake_server_answers_valid_requests(messages: tuple[Any, ...]) -> None:
    with AnthropicServer(lambda request: f"{len(request['messages'])}") as server:
        status, answer = post(server, body(*messages))
        assert (status, answer["content"][0]["text"]) == (200, str(len(messages)))
        assert server.bodies == [body(*messages)]
