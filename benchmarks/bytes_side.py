"""The floor: a request that is encoded already, sent by the SDK's low-level ``post``.

The body is made once, so a sample holds the HTTP client, the bytes on the wire and the reading of
the stream as plain data, and nothing else. What Hookline takes beyond it is Hookline's own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bare_side import AnthropicWire, OpenAIWire
from worker import Sample, timed, work
from workload import QUESTION


def openai_request(job: Mapping[str, Any]) -> tuple[Any, Any, str, dict[str, Any]]:
    """Client, stream class, path and body of the same request as the bare SDK makes."""
    from openai import AsyncOpenAI, AsyncStream

    wire = OpenAIWire(job)
    asked = {"role": "user", "content": QUESTION}
    body = {"model": "bench", "stream": True, "stream_options": {"include_usage": True}}
    body |= {"tools": wire.tools, "messages": [*wire.conversation(job["history"]), asked]}
    client = AsyncOpenAI(base_url=job["base_url"], api_key="bench")
    return client, AsyncStream[object], "/chat/completions", body


def anthropic_request(job: Mapping[str, Any]) -> tuple[Any, Any, str, dict[str, Any]]:
    """Client, stream class, path and body of the same request as the bare SDK makes."""
    from anthropic import AsyncAnthropic, AsyncStream

    wire = AnthropicWire(job)
    asked = {"role": "user", "content": [{"type": "text", "text": QUESTION}]}
    body = {"model": "bench", "max_tokens": 8192, "stream": True, "system": wire.system}
    body |= {"tools": wire.tools, "messages": [*wire.conversation(job["history"]), asked]}
    client = AsyncAnthropic(base_url=job["base_url"], api_key="bench")
    return client, AsyncStream[object], "/v1/messages", body


REQUESTS = {"openai": openai_request, "anthropic": anthropic_request}


@asynccontextmanager
async def side(job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """Prepare a job; see :mod:`measures` for its fields."""
    client, stream_class, path, request = REQUESTS[job["wire"]](job)
    body = json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()

    async def send() -> None:
        for _ in range(job["turns"]):
            stream = await client.post(
                path,
                content=body,
                cast_to=object,
                stream=True,
                stream_cls=stream_class,
                options={"headers": {"Content-Type": "application/json"}},
            )
            async with stream:
                async for _event in stream:
                    pass

    async def sample() -> Mapping[str, float]:
        return await timed(job["turns"], send())

    yield {"bytes": len(body)}, sample


if __name__ == "__main__":
    work(side)
