"""JSON and answers of servers that would take long, or lose a header, on their way to the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from hookline_mcp.guarded_http import GuardedTransport
from hookline_mcp.readable_json import readable_json
from hookline_mcp.readable_messages import MAX_EVENT_BYTES, readable_events


def test_text_without_an_end_is_read_once() -> None:
    for broken in (b'"' + b'\\"' * 200_000, b'"' + b'\\"' * 200_000 + b"\\", b'"' * 200_001):
        assert readable_json(broken) == broken


def test_brackets_in_texts_are_no_levels() -> None:
    deep = b"[" * 300 + b"1" + b"]" * 300
    kept, cut = json.loads(readable_json(b'["\\"[{", ' + deep + b"]"))
    assert kept == '"[{'
    assert json.dumps(cut).count("[") == 99


async def test_event_that_comes_byte_by_byte_is_read_once() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(200_000):
            yield b"x"
        yield b"\ndata: 1\n"
        yield b"data"

    assert [one async for one in readable_events(pieces())] == [
        b"x" * 200_000 + b"\n",
        b"data: 1\ndata: \n\n",
    ]


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 65_536 + b"\n", b"x" * 65_536])
async def test_event_without_an_end_is_given_up_at_the_limit(piece: bytes) -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 2 * MAX_EVENT_BYTES:
            sent += len(piece)
            yield piece

    with pytest.raises(httpx2.SSEError, match="larger than 16,777,216 bytes"):
        assert [one async for one in readable_events(pieces())]
    assert sent < MAX_EVENT_BYTES + 2 * len(piece)


async def test_each_of_several_headers_of_one_name_is_kept() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n"
            b"Content-Type: application/json\r\n"
            b"WWW-Authenticate: Bearer a=1\r\nWWW-Authenticate: Basic\r\n\r\n{}"
        )
        writer.close()

    class Dialer:
        async def connect(
            self, host: str, port: int
        ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await asyncio.open_connection(host, port)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, httpx2.AsyncClient(transport=GuardedTransport(Dialer())) as client:
        response = await client.get(f"http://127.0.0.1:{port}/")
    assert response.headers.get_list("www-authenticate") == ["Bearer a=1", "Basic"]
    assert response.json() == {}
