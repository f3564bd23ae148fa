"""Messages and arguments in the conventions' format, without secrets of the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hookline_hookspecs import Message, TextBlock, ThinkingBlock, ToolCall, ToolResultBlock
from hookline_hookspecs.secrets import redacted

MAX_ATTRIBUTE_CHARS = 60_000
"""Characters of one attribute; collectors refuse spans that are too large."""


def redact_secrets(value: Any) -> Any:
    """Return a JSON value without secrets, also in its keys."""
    if isinstance(value, str):
        return _without_surrogates(redacted(value))
    if isinstance(value, Mapping):
        return {redact_secrets(str(key)): redact_secrets(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_secrets(inner) for inner in value]
    return value


def to_json(value: Any) -> str:
    """Return compact JSON without secrets, cut to :data:`MAX_ATTRIBUTE_CHARS`."""
    found = _encode(value)
    return found if len(found) <= MAX_ATTRIBUTE_CHARS else found[: MAX_ATTRIBUTE_CHARS - 1] + "…"


def limit_text(value: str) -> str:
    """Return a text without secrets, cut to :data:`MAX_ATTRIBUTE_CHARS`."""
    value = _without_surrogates(redacted(value))
    return value if len(value) <= MAX_ATTRIBUTE_CHARS else value[: MAX_ATTRIBUTE_CHARS - 1] + "…"


def _without_surrogates(value: str) -> str:
    """Replace lone surrogates, which protobuf cannot encode."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _encode(value: Any) -> str:
    """Return compact JSON; never raises, because telemetry must not fail a call."""
    try:
        return json.dumps(redact_secrets(value), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return '"(not JSON)"'


def messages(given: Iterable[Message], finish: str = "") -> str:
    """Return the newest messages that fit, in order, as JSON of the conventions' schema."""
    found: list[str] = []
    left = MAX_ATTRIBUTE_CHARS
    for message in reversed(tuple(given)):
        data: dict[str, Any] = {
            "role": message.speaker,
            "parts": [_part(block) for block in message.blocks],
        }
        if finish:
            data["finish_reason"] = finish
        one = _encode(data)
        left -= len(one) + 1
        if left < 0:
            break
        found.append(one)
    return f"[{','.join(reversed(found))}]"


def _part(block: Any) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": "text", "content": limit_text(block.text)}
        case ThinkingBlock():
            return {"type": "reasoning", "content": limit_text(block.text)}
        case ToolCall():
            arguments = block.arguments
            return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": arguments}
        case ToolResultBlock():
            return {
                "type": "tool_call_response",
                "id": block.call_id,
                "response": limit_text(block.text),
            }
        case _:
            return {"type": "blob", "modality": "image", "content": ""}
