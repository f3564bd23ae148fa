"""Messages and arguments in the conventions' format, without secrets and personal data."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hookline_hookspecs import Message, TextBlock, ThinkingBlock, ToolCall, ToolResultBlock
from hookline_hookspecs.secrets import redacted

MAX_ATTRIBUTE_CHARS = 60_000
"""Characters of one attribute; collectors refuse spans that are too large."""
MAX_CACHED_TEXTS = 512
"""Redacted texts that are kept, because each request repeats those of the one before."""


class Content:
    """Encodes what people and the model wrote.

    Args:
        redact: replaces secrets and personal data by placeholders, also those that no configuration
            names; None only replaces secrets of the configuration.
    """

    def __init__(self, redact: Callable[[str], str] | None = None) -> None:
        self._redact = redact
        self._cache: OrderedDict[str, str] = OrderedDict()

    def to_json(self, value: Any) -> str:
        """Return compact JSON, cut to :data:`MAX_ATTRIBUTE_CHARS`."""
        return _limited(self._encode(value))

    def limit_text(self, value: str) -> str:
        """Return a text, cut to :data:`MAX_ATTRIBUTE_CHARS`."""
        return _limited(self._text(value))

    def message(self, role: str, text: str) -> str:
        """Return one message as JSON of the conventions' schema."""
        return self.to_json([{"role": role, "parts": [{"type": "text", "content": text}]}])

    def messages(self, given: Iterable[Message], finish: str = "") -> str:
        """Return the newest messages that fit, in order, as JSON of the conventions' schema."""
        found: list[str] = []
        left = MAX_ATTRIBUTE_CHARS
        for message in reversed(tuple(given)):
            data: dict[str, Any] = {
                "role": message.speaker,
                "parts": [self._part(block) for block in message.blocks],
            }
            if finish:
                data["finish_reason"] = finish
            one = self._encode(data)
            left -= len(one) + 1
            if left < 0:
                break
            found.append(one)
        return f"[{','.join(reversed(found))}]"

    def _part(self, block: Any) -> dict[str, Any]:
        match block:
            case TextBlock():
                return {"type": "text", "content": self.limit_text(block.text)}
            case ThinkingBlock():
                return {"type": "reasoning", "content": self.limit_text(block.text)}
            case ToolCall():
                arguments = block.arguments
                call = {"type": "tool_call", "id": block.id, "name": block.name}
                return call | {"arguments": arguments}
            case ToolResultBlock():
                text = self.limit_text(block.text)
                return {"type": "tool_call_response", "id": block.call_id, "response": text}
            case _:
                return {"type": "blob", "modality": "image", "content": ""}

    def _encode(self, value: Any) -> str:
        """Return compact JSON; never raises, because telemetry must not fail a call."""
        try:
            return json.dumps(self._clean(value), ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            return '"(not JSON)"'

    def _clean(self, value: Any) -> Any:
        """Return a JSON value redacted, also in its keys."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._clean(str(key)): self._clean(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(inner) for inner in value]
        return value

    def _text(self, value: str) -> str:
        if value in self._cache:
            self._cache.move_to_end(value)
            return self._cache[value]
        text = _without_surrogates(redacted(value))
        if self._redact is not None:
            text = self._redact(text)
        self._cache[value] = text
        if len(self._cache) > MAX_CACHED_TEXTS:
            self._cache.popitem(last=False)
        return text


def _limited(text: str) -> str:
    return text if len(text) <= MAX_ATTRIBUTE_CHARS else text[: MAX_ATTRIBUTE_CHARS - 1] + "…"


def _without_surrogates(value: str) -> str:
    """Replace lone surrogates, which protobuf cannot encode."""
    return value.encode("utf-8", "replace").decode("utf-8")
