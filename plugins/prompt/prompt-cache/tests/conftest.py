"""A model on a wire with places for markers, the session it is asked in, and a clock to move."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Clock, ScriptedModel
from hookline_hookspecs import (
    DeltaSink,
    Fragment,
    Message,
    ModelRequest,
    ModelResponse,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    Usage,
    WireRequest,
)

MODEL = "claude-sonnet-4-5"


def fragment(head: str, blocks: Iterable[dict[str, Any]], tail: str) -> Fragment:
    """Blocks between ``head`` and ``tail``, with a place for a marker in each but thinking."""
    data, cuts, parts = head.encode(), [], []
    for block in blocks:
        part = json.dumps(block).encode()
        at = len(data) + sum(map(len, parts)) + len(parts) + len(part) - 1
        cuts.append(-1 if block["type"] == "thinking" else at)
        parts.append(part)
    return Fragment(data + b",".join(parts) + tail.encode(), tuple(cuts))


def message(role: str, *blocks: dict[str, Any]) -> Fragment:
    """A message as the Messages API has it."""
    return fragment(f'{{"role":"{role}","content":[', blocks, "]}")


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def _rendered(one: Message) -> Fragment:
    blocks: list[dict[str, Any]] = []
    for block in one.blocks:
        match block:
            case TextBlock(words):
                blocks.append(text(words))
            case ToolCall():
                blocks.append({"type": "tool_use", "id": block.id, "name": block.name})
            case ToolResultBlock():
                blocks.append({"type": "tool_result", "content": block.text})
    if one.context:
        blocks.append(text(one.context))
    return message(one.role, *blocks)


class MarkedModel(ScriptedModel):
    """A scripted model that takes markers and counts a token for four bytes."""

    def render(self, request: ModelRequest) -> WireRequest:
        """The request as the Messages API has it."""
        wire = super().render(request)
        stable = {
            "system": fragment("[", [text(request.system)], "]"),
            "tools": fragment("[", [], "]"),
        }
        dict.update(wire.stable, stable)  # type: ignore[arg-type]  # a frozen dict of the test kit
        fragments = tuple(map(_rendered, request.messages))
        fields = {"model": MODEL}
        if request.ephemeral:
            fields["system"] = [text(request.ephemeral)]  # type: ignore[assignment]
        return replace(wire, fragments=fragments, model=MODEL, fields=fields)

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Play the next step."""
        response = await super().send(wire, on_delta)
        size = sum(map(len, (*wire.stable.values(), *wire.fragments)))
        usage = Usage(input=size // 4, cache_read=size // 8, cache_write=size // 16, output=5)
        return replace(response, usage=usage)


@pytest.fixture
def wait(clock: Clock) -> Callable[[float], None]:
    """Let so many seconds pass."""
    offset = 0.0

    def forward(seconds: float) -> None:
        nonlocal offset
        offset += seconds
        clock.ahead(offset)

    return forward
