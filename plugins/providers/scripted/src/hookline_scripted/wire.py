"""Renders a request as the scripted model's JSON, and reads texts back from it.

The JSON is like that of a real API, one fragment a message, so that ``pre_send`` has something to
work on. These bytes choose the step, not the request behind them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import (
    BadRequest,
    Block,
    Fragment,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    WireRequest,
)

WIRE_KEY = "scripted"
"""The key of :attr:`Message.wire` for a rendered message."""


def render(request: ModelRequest) -> WireRequest:
    """Return the request as JSON parts; equal messages give equal bytes."""
    provider, _, model = request.model.partition("/")
    fields: dict[str, Any] = {"model": model}
    if "tool_choice" in request.params:
        fields["tool_choice"] = request.params["tool_choice"]
    if request.ephemeral:
        fields["ephemeral"] = request.ephemeral
    tools = [
        {"name": t.name, "description": t.description, "parameters": t.parameters}
        for t in request.tools
    ]
    return WireRequest(
        provider=provider,
        fields=fields,
        fragments=tuple(_fragment(message) for message in request.messages),
        stable={"tools": _encode(tools), "system": _encode(request.system)},
        model=request.model,
        session_id=request.session_id,
    )


def _fragment(message: Message) -> Fragment:
    known: Fragment | None = message.wire.get(WIRE_KEY)
    if known is None:
        content = [_block(block) for block in message.blocks]
        if message.context:
            content.append({"type": "text", "text": message.context})
        data = _encode({"role": message.role, "content": content})
        # No places for cache markers: this API has none.
        known = message.wire[WIRE_KEY] = Fragment(data, (-1,) * len(content), message.speaker)
    return known


def _block(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ThinkingBlock(text):
            return {"type": "thinking", "thinking": text}
        case ImageBlock(mime, data):
            return {"type": "image", "mime": mime, "data": data}
        case ToolCall(id, name, arguments):
            in_order = dict(sorted(arguments.items()))
            return {"type": "tool_use", "id": id, "name": name, "input": in_order}
        case ToolResultBlock(call_id, text, ok, images):
            result = {"type": "tool_result", "id": call_id, "text": text, "ok": ok}
            return result | ({"images": [_block(image) for image in images]} if images else {})


def _encode(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    # UTF-8 cannot hold a lone surrogate, as undecodable file names have.
    return text.encode("utf-8", "replace")


def message_text(fragment: bytes) -> str:
    """Return the texts and tool results of a fragment, in order, joined by newlines.

    Raises:
        BadRequest: the bytes, which a plugin may have replaced, are not JSON.
    """
    try:
        data = json.loads(fragment)
    except ValueError:
        raise BadRequest(
            "The scripted model received a message that is not JSON. A plugin's pre_send replaced"
            f" it with {bytes(fragment[:80])!r}."
        ) from None
    content = data.get("content", "") if isinstance(data, dict) else data
    parts = content if isinstance(content, list) else [content]
    return "\n".join(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    if part.get("type") == "tool_use":
        return f"{part.get('name')} {json.dumps(part.get('input'), ensure_ascii=False)}"
    return str(part.get("text", ""))


def system_text(wire: WireRequest) -> str:
    """Return the system prompt, and after it the ephemeral text of this call."""
    stable = wire.stable.get("system", b'""')
    try:
        text = str(json.loads(stable))
    except ValueError:
        text = stable.decode("utf-8", "replace")
    return "\n".join(filter(None, (text, wire.fields.get("ephemeral", ""))))


def parts(wire: WireRequest) -> tuple[bytes, ...]:
    """Return all parts of the request in the order in which a cache reads them."""
    ephemeral = str(wire.fields.get("ephemeral", "")).encode("utf-8", "replace")
    stable = (wire.stable.get("tools", b""), wire.stable.get("system", b""))
    return (*stable, ephemeral, *wire.fragments)
