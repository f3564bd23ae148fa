"""What was said, as the conventions write it, without the secrets of the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hookline_hookspecs import Message, TextBlock, ThinkingBlock, ToolCall, ToolResultBlock
from hookline_hookspecs.secrets import redacted

MOST = 60_000
"""Characters of one attribute: collectors refuse spans that are too large."""


def clean(value: Any) -> Any:
    """A JSON value without secrets, in its keys neither."""
    if isinstance(value, str):
        return _sendable(redacted(value))
    if isinstance(value, Mapping):
        return {clean(str(key)): clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    return value


def as_json(value: Any) -> str:
    """Compact JSON without secrets, cut to :data:`MOST` characters."""
    found = _encoded(value)
    return found if len(found) <= MOST else found[: MOST - 1] + "…"


def text(value: str) -> str:
    """A text without secrets, cut to :data:`MOST` characters."""
    value = _sendable(redacted(value))
    return value if len(value) <= MOST else value[: MOST - 1] + "…"


def _sendable(value: str) -> str:
    """``value`` without lone surrogates, which protobuf cannot hold."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _encoded(value: Any) -> str:
    """Compact JSON; telemetry is never the reason for which a call fails."""
    try:
        return json.dumps(clean(value), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return '"(what JSON cannot hold)"'


def messages(given: Iterable[Message], finish: str = "") -> str:
    """The newest of ``given`` that fit, in order, as JSON of the conventions' schema."""
    found: list[str] = []
    left = MOST
    for message in reversed(tuple(given)):
        data: dict[str, Any] = {
            "role": message.speaker,
            "parts": [_part(block) for block in message.blocks],
        }
        if finish:
            data["finish_reason"] = finish
        one = _encoded(data)
        left -= len(one) + 1
        if left < 0:
            break
        found.append(one)
    return f"[{','.join(reversed(found))}]"


def _part(block: Any) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": "text", "content": text(block.text)}
        case ThinkingBlock():
            return {"type": "reasoning", "content": text(block.text)}
        case ToolCall():
            arguments = block.arguments
            return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": arguments}
        case ToolResultBlock():
            return {"type": "tool_call_response", "id": block.call_id, "response": text(block.text)}
        case _:
            return {"type": "blob", "modality": "image", "content": ""}
