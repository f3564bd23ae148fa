"""The bare SDK: the loop that a program would write around the SDK's ordinary method.

It makes the same requests as Hookline does (same model, system prompt, tool schemas, history and
question, streamed with usage), with the asynchronous client in one process, and keeps nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

from worker import Sample, timed, work
from workload import QUESTION, bench_add, history


class Wire(Protocol):
    """One SDK: how a conversation is written and a turn is run to its end."""

    def conversation(self, messages: int) -> list[Any]:
        """A conversation with a history."""

    async def turn(self, messages: list[Any]) -> str:
        """Ask; run the tools that are called; append what is said; the answer."""


class OpenAIWire:
    """``chat.completions.create`` of the openai SDK."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        from openai import AsyncOpenAI

        self._client = AsyncOpenAI(base_url=job["base_url"], api_key="bench")
        self.system = {"role": "system", "content": job["system"]}
        self.tools: Any = [{"type": "function", "function": tool} for tool in job["tools"]]

    def conversation(self, messages: int) -> list[Any]:
        """The system prompt, if it is a message here, and a history."""
        return [self.system, *({"role": r, "content": text} for r, text in history(messages))]

    async def turn(self, messages: list[Any]) -> str:
        """See :class:`Wire`."""
        messages.append({"role": "user", "content": QUESTION})
        while True:
            text, calls = await self._response(messages)
            if not calls:
                messages.append({"role": "assistant", "content": text})
                return text
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            for call in calls:
                result = bench_add(**json.loads(call["function"]["arguments"]))
                answer = {"role": "tool", "tool_call_id": call["id"], "content": result}
                messages.append(answer)

    async def _response(self, messages: list[Any]) -> tuple[str, list[Any]]:
        stream: Any = await self._client.chat.completions.create(
            model="bench",
            messages=messages,
            tools=self.tools,
            stream=True,
            stream_options={"include_usage": True},
        )
        text: list[str] = []
        calls: dict[int, Any] = {}
        async for chunk in stream:
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            text.append(delta.content or "")
            for piece in delta.tool_calls or ():
                function = {"name": piece.function.name, "arguments": ""}
                begun = {"id": piece.id, "type": "function", "function": function}
                call = calls.setdefault(piece.index, begun)
                call["function"]["arguments"] += piece.function.arguments or ""
        return "".join(text), list(calls.values())


class AnthropicWire:
    """``messages.create`` of the anthropic SDK."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        from anthropic import AsyncAnthropic

        self._client = AsyncAnthropic(base_url=job["base_url"], api_key="bench")
        self.system: Any = [{"type": "text", "text": job["system"]}]
        self.tools: Any = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["parameters"],
            }
            for tool in job["tools"]
        ]

    def conversation(self, messages: int) -> list[Any]:
        """The system prompt, if it is a message here, and a history."""
        return [
            {"role": role, "content": [{"type": "text", "text": text}]}
            for role, text in history(messages)
        ]

    async def turn(self, messages: list[Any]) -> str:
        """See :class:`Wire`."""
        messages.append({"role": "user", "content": [{"type": "text", "text": QUESTION}]})
        while True:
            blocks = await self._response(messages)
            messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in blocks)
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": [{"type": "text", "text": bench_add(**call["input"])}],
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})

    async def _response(self, messages: list[Any]) -> list[Any]:
        stream: Any = await self._client.messages.create(
            model="bench",
            max_tokens=8192,
            system=self.system,
            messages=messages,
            tools=self.tools,
            stream=True,
        )
        blocks: list[Any] = []
        pieces: list[str] = []
        async for event in stream:
            if event.type == "content_block_start":
                block = event.content_block
                kept = ("type", "id", "name") if block.type == "tool_use" else ("type",)
                blocks.append({name: getattr(block, name) for name in kept})
                pieces = []
            elif event.type == "content_block_delta":
                pieces.append(getattr(event.delta, "text", "") or event.delta.partial_json)
            elif event.type == "content_block_stop":
                if blocks[-1]["type"] == "tool_use":
                    blocks[-1]["input"] = json.loads("".join(pieces) or "{}")
                else:
                    blocks[-1]["text"] = "".join(pieces)
        return blocks


WIRES: Mapping[str, type[OpenAIWire] | type[AnthropicWire]] = {
    "openai": OpenAIWire,
    "anthropic": AnthropicWire,
}


@asynccontextmanager
async def side(job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """Prepare a job; see :mod:`measures` for its fields."""
    wire: Wire = WIRES[job["wire"]](job)
    kept = wire.conversation(job["history"])

    async def one_after_another() -> None:
        for _ in range(job["turns"]):
            await wire.turn(kept if job["history"] else wire.conversation(0))

    async def session() -> None:
        messages = wire.conversation(0)
        for _ in range(job["turns"]):
            await wire.turn(messages)

    async def side_by_side() -> None:
        await asyncio.gather(*(session() for _ in range(job["sessions"])))

    async def sample() -> Mapping[str, float]:
        work = side_by_side() if job["sessions"] > 1 else one_after_another()
        return await timed(job["turns"] * job["sessions"], work)

    yield {}, sample


if __name__ == "__main__":
    work(side)
