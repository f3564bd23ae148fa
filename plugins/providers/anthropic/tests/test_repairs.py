"""One item that a server refuses is left out, told, and remembered for the model."""

from __future__ import annotations

import json

import pytest
from hookline_hookspecs import (
    ImageBlock,
    Message,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from support.anthropic_server import Reply

PICTURE = Message("user", (TextBlock("look"), ImageBlock("image/png", "iVBORw0KGgo=", origins=())))


def refusal(message):
    return Reply(status=400, error=("invalid_request_error", message))


def notices(conversation):
    return [delta.text for delta in conversation.shown if delta.kind == "notice"]


async def test_thinking_that_another_provider_signed_is_left_out(talk):
    conversation = talk("ok", "ok again")
    thought = ThinkingBlock("hm", "signed elsewhere")  # stored before blocks knew their model
    history = [Message.user("hi"), Message("assistant", (thought, TextBlock("yes")))]
    response = await conversation.ask(*history, Message.user("go on"))
    assert response.text == "ok"
    assert len(notices(conversation)) == 1
    sent = conversation.body["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["text"]
    await conversation.ask(*history, Message.user("go on"))
    assert len(notices(conversation)) == 1


async def test_thinking_is_sent_back_to_its_own_model_only(talk):
    conversation = talk("ok", "ok")
    other = ThinkingBlock("hm", "sig", state=ProviderState("kimi/k2"))
    call = ToolCall("c1", "look", {})
    history = [Message.user("hi"), Message("assistant", (other, call))]
    await conversation.ask(*history, Message("user", (ToolResultBlock("c1", "ok"),)))
    assert [block["type"] for block in conversation.body["messages"][1]["content"]] == ["tool_use"]
    assert notices(conversation) == []


async def test_picture_that_a_model_cannot_see_is_left_out(talk):
    conversation = talk(refusal("This model does not support image input"), "ok")
    assert (await conversation.ask(PICTURE)).text == "ok"
    assert "cannot read images" in notices(conversation)[0]
    sent = conversation.body["messages"][0]["content"]
    assert [block["type"] for block in sent] == ["text", "text"]


@pytest.mark.parametrize("where", ["tools.0.custom.input_schema", "tool 'look': its schema"])
async def test_bad_tool_schema_costs_only_that_tool(talk, where):
    conversation = talk(refusal(f"{where} does not support oneOf at the top level"), "ok")
    assert (await conversation.ask()).text == "ok"
    assert [tool["name"] for tool in conversation.body["tools"]] == ["wait"]


async def test_nearly_json_arguments_are_read(talk):
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": "{'at': 'it'}"}
    events = [
        {"type": "message_start", "message": {"id": "m", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    raw = tuple((event["type"], json.dumps(event)) for event in events)
    response = await talk(Reply(events=raw)).ask()
    assert response.blocks == (ToolCall("t1", "look", {"at": "it"}),)
