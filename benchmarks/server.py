"""A model server on loopback that costs next to nothing: both wires, streamed, no delay.

It reads a request to its end, looks at the path, counts the tool results in the body without
decoding it, and writes a prepared answer in one piece, so that what is measured is the client. A
request that does not ask for a stream, as those for titles and reviews may, gets a whole message::

    /text/v1/chat/completions       a short text
    /tools-20/v1/messages           a tool call until the body holds 20 results, then the text
    /reads-3/v1/messages            the same with the tool read_file

``python benchmarks/server.py`` prints its port and serves until its stdin is closed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

from workload import NOTES

Call: TypeAlias = "tuple[int, str, str]"
"""A tool call: its number, the tool, and the arguments as JSON."""


def adding(number: int) -> Call:
    """The call of a benchmark's own tool."""
    return number, "bench_add", json.dumps({"left": number, "right": 1})


def reading(number: int) -> Call:
    """The call that reads a file."""
    return number, "read_file", json.dumps({"path": NOTES[number]})


CALLS = {"tools": adding, "reads": reading}
WORDS = ("The ", "quick ", "brown ", "fox ", "jumps ", "over ", "the ", "dog.")
"""The answer, one streamed piece each: short, so that neither side is paid for parsing."""


def openai_events(call: Call | None) -> Iterable[str]:
    """The stream of ``/chat/completions``: a tool call by its number, or the text."""
    if call is None:
        deltas: list[dict[str, Any]] = [{"content": word} for word in WORDS]
    else:
        function = {"name": call[1], "arguments": call[2]}
        one = {"index": 0, "id": f"call_{call[0]}", "type": "function", "function": function}
        deltas = [{"tool_calls": [one]}]
    finish = "stop" if call is None else "tool_calls"
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    head["model"] = "bench"
    opened = {"role": "assistant", "content": ""}
    for delta, end in [(opened, None), *((delta, None) for delta in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        yield f"data: {json.dumps(head | {'choices': [choice]})}\n\n"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    yield f"data: {json.dumps(head | {'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def anthropic_events(call: Call | None) -> Iterable[str]:
    """The stream of ``/messages``: a tool call by its number, or the text."""
    usage: dict[str, Any] = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "bench",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _event("message_start", message=message)
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": word} for word in WORDS]
    else:
        block = {"type": "tool_use", "id": f"toolu_{call[0]}", "name": call[1], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": call[2]}]
    yield _event("content_block_start", index=0, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=0, delta=delta)
    yield _event("content_block_stop", index=0)
    stop = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage={"output_tokens": 10})
    yield _event("message_stop")


def openai_message(call: Call | None) -> dict[str, Any]:
    """The whole answer of ``/chat/completions``."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(WORDS)}
    if call is not None:
        function = {"name": call[1], "arguments": call[2]}
        one = {"id": f"call_{call[0]}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [one]}
    finish = "stop" if call is None else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000}
    return head | {"model": "bench", "choices": [choice], "usage": usage}


def anthropic_message(call: Call | None) -> dict[str, Any]:
    """The whole answer of ``/messages``."""
    block: dict[str, Any] = {"type": "text", "text": "".join(WORDS)}
    if call is not None:
        block = {"type": "tool_use", "id": f"toolu_{call[0]}", "name": call[1]}
        block["input"] = json.loads(call[2])
    stop = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench"}
    return head | stop | {"content": [block], "usage": {"input_tokens": 100, "output_tokens": 10}}


def _event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | data)}\n\n"


WIRES = {
    "/v1/chat/completions": (openai_events, openai_message, b'"tool_call_id"'),
    "/v1/messages": (anthropic_events, anthropic_message, b'"tool_use_id"'),
}
"""The end of the path: how it answers, streamed and whole, and what occurs once in each tool
result."""
STREAMED = (b'"stream":true', b'"stream": true')


@cache
def answer(path: str, call: Call | None) -> bytes:
    """The whole HTTP response."""
    events, _, _ = WIRES[path]
    chunks = [event.encode() for event in events(call)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    return head + b"\r\n" + framed + b"0\r\n\r\n"


@cache
def whole(path: str, call: Call | None) -> bytes:
    """The whole HTTP response to a request that asks for no stream."""
    _, message, _ = WIRES[path]
    body = json.dumps(message(call)).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def respond(target: str, body: bytes) -> bytes:
    """The answer to a request."""
    _, script, rest = target.split("/", 2)
    path = "/" + rest.partition("?")[0]
    kind, _, number = script.partition("-")
    calls = int(number or 0)
    done = body.count(WIRES[path][2]) if calls else 0
    give = answer if any(mark in body for mark in STREAMED) else whole
    return give(path, CALLS[kind](done) if done < calls else None)


class Connection(asyncio.Protocol):
    """One connection that is kept alive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._target = ""
        self._wanted = 0
        """Bytes of the body to come; 0 while the head is awaited."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is whole."""
        self._buffer += data
        if not self._wanted and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            self._read_head(self._buffer[:end].decode("latin-1"))
            del self._buffer[: end + 4]
        if self._wanted and len(self._buffer) >= self._wanted:
            body = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = 0
            self._transport.write(respond(self._target, body))

    def _read_head(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        self._target = first.split()[1]
        headers = (line.partition(":") for line in lines)
        self._wanted = next(int(value) for name, _, value in headers if name.lower() == _LENGTH)


_LENGTH = "content-length"


async def serve() -> None:
    """Serve until stdin is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=2048)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
