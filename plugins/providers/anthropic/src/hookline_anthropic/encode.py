"""Encodes a message as bytes of the Messages API, with the places where a cache marker may go.

Content is always a list of blocks. Nothing depends on a message's neighbours, so equal messages
give equal bytes; only a tool call id that the conversation has already used is renamed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hookline_hookspecs import (
    Block,
    Fragment,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)

PLACEHOLDER = "(empty)"
"""Sent for a message or tool result without content, which the API refuses, and at the end of an
assistant message that has only thinking."""

MAX_NAME_CHARS = 128
"""The API's limit for a tool name."""

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_UNMARKABLE = ("thinking", "redacted_thinking")


def to_json(value: Any) -> bytes:
    """Return compact UTF-8 JSON. NaN and infinity become null, a lone surrogate ``?``."""
    try:
        text = _dumps(value)
    except ValueError:
        text = _dumps(_finite(value))
    return text.encode("utf-8", "replace")


def _dumps(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=dict
    )


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


def list_fragment(
    blocks: Iterable[Mapping[str, Any]], head: bytes, tail: bytes, role: str = ""
) -> Fragment:
    """Return blocks as a JSON list between ``head`` and ``tail``, with a cut before each ``}``."""
    parts: list[bytes] = []
    cuts: list[int] = []
    length = len(head)
    for block in blocks:
        part = to_json(block)
        length += len(part)
        cuts.append(length - 1 if _may_carry_marker(block) else -1)
        length += 1  # the comma
        parts.append(part)
    return Fragment(head + b",".join(parts) + tail, tuple(cuts), role)


def _may_carry_marker(block: Mapping[str, Any]) -> bool:
    return block.get("type") not in _UNMARKABLE and block.get("text") != ""


def message_fragment(message: Message, renames: Mapping[str, str]) -> Fragment:
    """Return a message as it is sent; ``renames`` maps call ids to those that are sent."""
    blocks = (
        _user_blocks(message, renames)
        if message.role == "user"
        else _assistant_blocks(message, renames)
    )
    head = b'{"role":"%s","content":[' % message.role.encode()
    return list_fragment(blocks or [_text(PLACEHOLDER)], head, b"]}", message.speaker)


def _user_blocks(message: Message, renames: Mapping[str, str]) -> list[dict[str, Any]]:
    # The API requires the results of calls before anything else in a user message.
    results = [b for b in message.blocks if isinstance(b, ToolResultBlock)]
    blocks = [_result(block, renames) for block in results]
    for result in results:
        if not result.ok:
            blocks += [_image(image) for image in result.images]
    blocks += _plain(message.blocks)
    if message.context.strip():
        blocks.append(_text(message.context))
    return blocks


def _assistant_blocks(message: Message, renames: Mapping[str, str]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ThinkingBlock():
                blocks += _thinking(block)
            case ToolCall():
                blocks.append(_call(block, renames))
            case _:
                blocks += _plain((block,))
    if blocks and blocks[-1]["type"] in _UNMARKABLE:
        blocks.append(_text(PLACEHOLDER))
    return blocks


def _plain(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case TextBlock(text) if text.strip():
                plain.append(_text(text))
            case ImageBlock():
                plain.append(_image(block))
    return plain


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: ImageBlock) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.mime, "data": image.data}
    return {"type": "image", "source": source}


def own_blocks(message: Message, model: str) -> tuple[Block, ...]:
    """Return the blocks without thinking of another model, whose signature ``model`` refuses."""
    return tuple(
        block
        for block in message.blocks
        if not isinstance(block, ThinkingBlock) or block.state is None or block.state.model == model
    )


def _thinking(block: ThinkingBlock) -> list[dict[str, Any]]:
    if block.redacted is not None:
        return [{"type": "redacted_thinking", "data": block.redacted}]
    if not block.signature:
        # Another provider's thinking: the API accepts only what it has signed itself.
        return []
    return [{"type": "thinking", "thinking": block.text, "signature": block.signature}]


def _call(call: ToolCall, renames: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": wire_id(call.id, renames),
        "name": _NOT_IN_IDS.sub("_", call.name)[:MAX_NAME_CHARS] or "unnamed",
        "input": {} if call.error else _in_order(call.arguments),
    }


def _in_order(value: Any) -> Any:
    """The value with sorted keys: equal calls give equal bytes, and a database may reorder keys."""
    if isinstance(value, Mapping):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(one) for one in value] if isinstance(value, (list, tuple)) else value


def _result(result: ToolResultBlock, renames: Mapping[str, str]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(result.call_id, renames)}
    content = [_text(result.text)] if result.text.strip() else []
    # A failed result may hold text only; its images follow the results.
    content += [_image(image) for image in result.images] if result.ok else []
    block["content"] = content or [_text(PLACEHOLDER)]
    return block if result.ok else block | {"is_error": True}


def wire_id(call_id: str, renames: Mapping[str, str]) -> str:
    """Return the id that a call is sent with: letters, digits, ``_`` and ``-`` only.

    Other characters, of other providers' ids, are replaced, and a hash of the original is added.
    The result is looked up in ``renames``.
    """
    clean = call_id
    if not call_id or _NOT_IN_IDS.search(call_id):
        digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
        clean = f"{_NOT_IN_IDS.sub('_', call_id)[:40] or 'call'}_{digest}"
    return renames.get(clean, clean)
