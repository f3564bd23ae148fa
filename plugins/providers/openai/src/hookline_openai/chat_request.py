"""Writes a request for ``/chat/completions``: fields, system, tools and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookline_hookspecs import (
    Fragment,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)

from .encode import EMPTY, call_arguments, call_id, call_name, encode
from .message_state import call_state, message_state

RESULT_IMAGES = "Images returned by the tools:"
"""Precedes images of tool results, which this API allows only in a user message."""


def fields(request: ModelRequest, stream: bool, max_tokens_field: str) -> dict[str, Any]:
    """The top-level fields of a request, without model, tools and messages."""
    params = request.params
    found: dict[str, Any] = {"stream": stream}
    if stream:
        found["stream_options"] = {"include_usage": True}
    if request.tools and "tool_choice" in params:
        found["tool_choice"] = params["tool_choice"]
    if "temperature" in params:
        found["temperature"] = params["temperature"]
    if "max_tokens" in params:
        found[max_tokens_field] = params["max_tokens"]
    if "schema" in params:
        schema = {"name": "answer", "schema": params["schema"], "strict": False}
        found["response_format"] = {"type": "json_schema", "json_schema": schema}
    return found


def system(text: str) -> bytes:
    """A system message."""
    return encode({"role": "system", "content": text})


def tools(schemas: Iterable[ToolSchema]) -> bytes:
    """The array of tools."""
    return encode([{"type": "function", "function": _function(tool)} for tool in schemas])


def fragment(message: Message, model: str, reasoning_field: str | None) -> Fragment:
    """One neutral message for ``model`` as one or more wire messages, joined by commas."""
    if message.role == "assistant":
        sent = _assistant(message, model, reasoning_field)
        return Fragment(encode(sent), role="assistant")
    return Fragment(b",".join(encode(part) for part in _user(message)), role=message.speaker)


def _function(tool: ToolSchema) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _assistant(message: Message, model: str, reasoning_field: str | None) -> dict[str, Any]:
    text = message.text if message.text.strip() else ""
    calls = [_call(call, model) for call in message.tool_calls]
    state = message_state(message, model, reasoning_field)
    if not calls:
        return {"role": "assistant", "content": text or EMPTY} | state
    return {"role": "assistant", "content": text or None} | state | {"tool_calls": calls}


def _call(call: ToolCall, model: str) -> dict[str, Any]:
    function = {"name": call_name(call.name), "arguments": call_arguments(call)}
    sent = {"id": call_id(call.id), "type": "function", "function": function}
    return sent | dict(call_state(call, model))


def _user(message: Message) -> list[dict[str, Any]]:
    results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
    sent: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": call_id(r.call_id), "content": r.text or EMPTY}
        for r in results
    ]
    content = _content(message, [image for result in results for image in result.images])
    if content or not sent:
        sent.append({"role": "user", "content": content or EMPTY})
    return sent


def _content(message: Message, result_images: list[ImageBlock]) -> str | list[dict[str, Any]]:
    """A plain string wherever that is possible: many servers refuse a list of parts."""
    own = [block for block in message.blocks if isinstance(block, TextBlock | ImageBlock)]
    blocks: list[TextBlock | ImageBlock] = [*result_images, *own]
    if result_images:
        blocks.insert(0, TextBlock(RESULT_IMAGES))
    blocks.append(TextBlock(message.context))
    blocks = [block for block in blocks if isinstance(block, ImageBlock) or block.text]
    if any(isinstance(block, ImageBlock) for block in blocks):
        return [_part(block) for block in blocks]
    return "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _part(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": data_url(block)}}


def data_url(image: ImageBlock) -> str:
    """A picture as a ``data:`` URL."""
    return f"data:{image.mime};base64,{image.data}"
