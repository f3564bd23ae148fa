"""Writes a request for ``/responses``: fields, system, tools and input items.

Nothing is stored at the provider (``store: false``): each request carries the whole history.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookline_hookspecs import (
    Fragment,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)

from .chat_request import RESULT_IMAGES, data_url
from .encode import EMPTY, call_arguments, call_id, call_name, encode
from .message_state import own_state


def fields(request: ModelRequest, stream: bool, _max_tokens_field: str) -> dict[str, Any]:
    """The top-level fields of a request, without model, tools and input."""
    params = request.params
    found: dict[str, Any] = {"stream": stream, "store": False}
    if request.tools and "tool_choice" in params:
        found["tool_choice"] = params["tool_choice"]
    if "temperature" in params:
        found["temperature"] = params["temperature"]
    if "max_tokens" in params:
        found["max_output_tokens"] = params["max_tokens"]
    if "schema" in params:
        schema = {"type": "json_schema", "name": "answer", "schema": params["schema"]}
        found["text"] = {"format": schema | {"strict": False}}
    return found


def system(text: str) -> bytes:
    """A system item."""
    return encode({"role": "system", "content": text})


def tools(schemas: Iterable[ToolSchema]) -> bytes:
    """The array of tools."""
    return encode([_function(tool) for tool in schemas])


def fragment(message: Message, model: str, _reasoning_field: str | None) -> Fragment:
    """One neutral message for ``model`` as one or more input items, joined by commas."""
    items = _assistant(message, model) if message.role == "assistant" else _user(message)
    return Fragment(b",".join(encode(item) for item in items), role=message.speaker)


def _function(tool: ToolSchema) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _assistant(message: Message, model: str) -> list[dict[str, Any]]:
    reasoning = [
        dict(own_state(block.state, model))
        for block in message.blocks
        if isinstance(block, ThinkingBlock) and own_state(block.state, model)
    ]
    calls = [_call(call) for call in message.tool_calls]
    text = message.text if message.text.strip() else ""
    if text or not calls:
        return [*reasoning, {"role": "assistant", "content": text or EMPTY}, *calls]
    return [*reasoning, *calls]


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call_id(call.id),
        "name": call_name(call.name),
        "arguments": call_arguments(call),
    }


def _user(message: Message) -> list[dict[str, Any]]:
    results = [block for block in message.blocks if isinstance(block, ToolResultBlock)]
    items: list[dict[str, Any]] = [
        {
            "type": "function_call_output",
            "call_id": call_id(result.call_id),
            "output": result.text or EMPTY,
        }
        for result in results
    ]
    parts = _parts(message, [image for result in results for image in result.images])
    if parts or not items:
        items.append({"role": "user", "content": parts or EMPTY})
    return items


def _parts(message: Message, result_images: list[ImageBlock]) -> list[dict[str, Any]]:
    parts = [{"type": "input_text", "text": RESULT_IMAGES}] if result_images else []
    parts += [_image(image) for image in result_images]
    for block in message.blocks:
        if isinstance(block, ImageBlock):
            parts.append(_image(block))
        elif isinstance(block, TextBlock) and block.text:
            parts.append({"type": "input_text", "text": block.text})
    if message.context:
        parts.append({"type": "input_text", "text": message.context})
    return parts


def _image(image: ImageBlock) -> dict[str, str]:
    return {"type": "input_image", "image_url": data_url(image)}
