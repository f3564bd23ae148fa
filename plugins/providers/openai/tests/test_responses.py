"""The API ``/responses``: differences from chat completions."""

from __future__ import annotations

import pytest
from hookline_hookspecs import (
    BadRequest,
    Delta,
    ImageBlock,
    Message,
    ModelRequest,
    Overloaded,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
    Usage,
)
from support.openai_server import Reply, Use

TOOLS = (ToolSchema("look", "Look it up.", {"type": "object", "properties": {}}),)
ASK = ModelRequest("openai/gpt-5", "Be kind.", TOOLS, (Message.user("hi"),))


def event(kind, **data):
    return {"type": kind, **data}


def item(index, **data):
    return event("response.output_item.added", output_index=index, item=data)


@pytest.fixture
def ask(serve, connect):
    """Send one request, get the answer and what was shown of it."""

    async def send(reply, request=ASK, **options):
        provider = connect(serve([reply]), api="responses", **options)
        shown: list[Delta] = []
        return await provider.send(provider.render(request), shown.append), shown

    return send


@pytest.mark.parametrize("stream", [True, False])
async def test_responses_answer_with_everything(ask, stream):
    use = Use("look", {"q": "ä"}, "call_a")
    reply = Reply("The text.", [use], reasoning="Let me think about it all.")
    response, shown = await ask(reply, stream=stream)
    assert response.blocks == (
        ThinkingBlock("Let me think about it all."),
        TextBlock("The text."),
        ToolCall("call_a", "look", {"q": "ä"}),
    )
    assert response.stop == "tools"
    assert "".join(d.text for d in shown if d.kind == "text") == "The text."
    thoughts = "".join(d.text for d in shown if d.kind == "thinking")
    assert thoughts == "Let me think about it all."


async def test_responses_request_has_the_expected_fields(serve, connect):
    server = serve(["ok"])
    provider = connect(server, api="responses")
    png = ImageBlock("image/png", "iVBORw0KGgo=", origins=())
    messages = (
        Message("user", (TextBlock("look"), png), context="<context/>"),
        Message("assistant", (TextBlock("I will"), ToolCall("c1", "look", {"b": 1, "a": 2}))),
        Message("user", (ToolResultBlock("c1", "seen", images=(png,)), TextBlock("quick"))),
    )
    params = {
        "max_tokens": 64,
        "temperature": 0,
        "tool_choice": "auto",
        "schema": {"type": "object"},
    }
    request = ModelRequest("openai/gpt-5", "Be kind.", TOOLS, messages, params=params)
    await provider.send(provider.render(request), None)
    sent = server.requests[0].json
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    assert server.requests[0].path == "/v1/responses"
    assert sent["store"] is False
    assert sent["max_output_tokens"] == 64
    assert sent["text"]["format"]["type"] == "json_schema"
    assert sent["tools"][0]["name"] == "look"
    assert [part.get("type", part.get("role")) for part in sent["input"]] == [
        "system", "user", "assistant", "function_call", "function_call_output", "user",
    ]  # fmt: skip
    assert sent["input"][1]["content"] == [
        {"type": "input_text", "text": "look"},
        image,
        {"type": "input_text", "text": "<context/>"},
    ]
    assert sent["input"][3]["arguments"] == '{"a":2,"b":1}'
    assert image in sent["input"][5]["content"]


@pytest.mark.parametrize("stream", [True, False])
async def test_responses_usage_is_read(ask, stream):
    usage = {
        "input_tokens": 80,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    response, _ = await ask(Reply("ok", usage=usage), stream=stream)
    assert response.usage == Usage(80, 64, 0, 9, 4)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", "length"),
        ("content_filter", "refusal"),
        ("something new", "incomplete"),
    ],
)
async def test_incomplete_reasons_become_stops(ask, reason, stop, stream):
    response, _ = await ask(Reply("half", finish=reason), stream=stream)
    assert response.text == "half"
    assert response.stop == stop


async def test_stream_that_ends_early_keeps_its_text(ask):
    chunks = [
        item(0, type="reasoning"),
        event("response.reasoning_summary_text.delta", output_index=0, delta="hm"),
        item(1, type="message"),
        event("response.output_text.delta", output_index=1, delta="half a sen"),
        item(2, type="function_call", call_id="c1", name="look"),
        event("response.function_call_arguments.delta", output_index=2, delta='{"q": "x'),
    ]
    response, _ = await ask(Reply(chunks=chunks))
    thinking, text, call = response.blocks
    assert (thinking, text) == (ThinkingBlock("hm"), TextBlock("half a sen"))
    assert "cut off" in call.error
    assert response.stop == "incomplete"


async def test_text_that_ends_early_is_incomplete(ask):
    response, _ = await ask(Reply("half a sen", finish=None))
    assert response.text == "half a sen"
    assert response.stop == "incomplete"


async def test_final_event_without_output_keeps_the_items(ask):
    done = {"type": "message", "content": [{"type": "output_text", "text": "all of it"}]}
    chunks = [
        event("response.output_item.done", output_index=0, item=done),
        event("response.completed", response={"status": "completed", "output": []}),
    ]
    response, _ = await ask(Reply(chunks=chunks))
    assert response.text == "all of it"
    assert response.stop == "end"


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (
            event(
                "response.failed",
                response={"status": "failed", "error": {"code": "server_error", "message": "oh"}},
            ),
            Overloaded,
        ),
        (event("error", code="server_error", message="oh", param=None), Overloaded),
        (event("error", error={"type": "invalid_request_error", "message": "oh"}), BadRequest),
    ],
)
async def test_failures_in_a_stream_are_raised(ask, last, kind):
    with pytest.raises(kind, match="oh"):
        await ask(Reply(chunks=[item(0, type="message"), last]))


async def test_calls_without_a_unique_id_get_their_own(ask):
    uses = [Use("look", {}, "same"), Use("look", {}, "same")]
    response, _ = await ask(Reply(None, uses))
    assert len({call.id for call in response.blocks}) == 2
    chunks = [
        item(0, type="function_call", name="look", arguments="{}"),
        event("response.completed", response={"status": "completed"}),
    ]
    response, _ = await ask(Reply(chunks=chunks))
    assert response.blocks[0].id
