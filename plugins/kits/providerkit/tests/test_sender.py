"""What is sent after the first request is what the SDK would send, and fails as the SDK does."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hookline_providerkit import Sender
from support.serving import serving

WIRES = [openai, anthropic]
LOST, LATE = 0, 1
"""In place of a status: a connection that breaks off, an answer that does not come."""


class Server(ThreadingHTTPServer):
    """Gives the answers that it was given, and keeps what was sent."""

    answers: list[tuple[int, dict[str, str], bytes]]
    asked: list[tuple[str, dict[str, str], bytes]]
    held: threading.Event


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, body))
        status, more, answer = self.server.answers.pop(0)
        if status == LOST:
            self.connection.shutdown(socket.SHUT_RDWR)
        if status == LATE:
            self.server.held.wait(60)
        if status < 200:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Server(("127.0.0.1", 0), Handler)) as made:
        yield made


Ask = Callable[[Sender], Awaitable[Any]]


def play(server: Server, wire: ModuleType, ask: Ask, *answers: Any, **options: Any) -> Any:
    """What ``ask`` returns of a sender whose server gives these answers."""
    server.answers, server.asked, server.held = list(answers), [], threading.Event()

    async def run() -> Any:
        http = httpx2.AsyncClient(follow_redirects=False)
        kind = openai.AsyncOpenAI if wire is openai else anthropic.AsyncAnthropic
        address = f"http://127.0.0.1:{server.server_port}/base"
        given: dict[str, Any] = {"api_key": "k", "base_url": address, "http_client": http}
        sender = Sender(kind(max_retries=0, **given | options), http, wire)
        try:
            return await ask(sender)
        finally:
            await sender.close()

    return asyncio.run(run())


OK = (200, {"Content-Type": "application/json"}, b'{"ok": 1}')


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_later_requests_are_like_the_first(server: Server, wire: ModuleType, stream: bool) -> None:
    async def ask(sender: Sender) -> list[bytes]:
        found = []
        for number in range(3):
            retry = {"x-stainless-retry-count": str(number)}
            response = await sender.post("/v1/say", b"x" * 10**number, retry, stream=stream)
            assert response.is_closed is not stream
            found.append(await response.aread())
        return found

    extra = {"X-Own": "mine"}
    assert play(server, wire, ask, OK, OK, OK, default_headers=extra) == [OK[2]] * 3
    paths, headers, bodies = zip(*server.asked, strict=True)
    assert (set(paths), [len(body) for body in bodies]) == ({"/base/v1/say"}, [1, 10, 100])
    told = [{n: h.pop(n) for n in ("content-length", "x-stainless-retry-count")} for h in headers]
    assert [one["content-length"] for one in told] == ["1", "10", "100"]
    assert [one["x-stainless-retry-count"] for one in told] == ["0", "1", "2"]
    assert headers[0] == headers[1] == headers[2]
    assert headers[0]["x-own"] == "mine"
    assert {"authorization", "x-api-key"} & headers[0].keys()


@pytest.mark.parametrize(
    "answer",
    [
        (400, {}, b'{"error": {"message": "no", "type": "invalid_request_error"}}'),
        (429, {"Retry-After": "7"}, b'{"type": "error", "error": {"message": "slow down"}}'),
        (503, {}, b"<html>busy</html>"),
        (302, {"Location": "http://127.0.0.1:1/elsewhere"}, b""),
        (500, {}, b"[" * 5000),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_is_the_same_error(server: Server, wire: ModuleType, answer: Any) -> None:
    async def ask(sender: Sender) -> list[tuple[Any, ...]]:
        found = []
        for stream in (False, True):
            with pytest.raises(wire.APIStatusError) as first:
                await sender.post("/say", b"{}", {}, stream=stream)
            await (await sender.post("/say", b"{}", {}, stream=stream)).aread()
            with pytest.raises(wire.APIStatusError) as later:
                await sender.post("/say", b"{}", {}, stream=stream)
            for error in (first.value, later.value):
                assert error.response.is_closed
                retry = error.response.headers.get("retry-after")
                inner = (
                    error.body.get("error", error.body)
                    if isinstance(error.body, dict)
                    else error.body
                )
                found.append((error.status_code, inner, retry))
        return found

    found = play(server, wire, ask, *[answer, OK, answer] * 2)
    assert found == [found[0]] * 4


@pytest.mark.parametrize("wire", WIRES)
def test_a_lost_connection_and_a_time_limit(server: Server, wire: ModuleType) -> None:
    async def ask(sender: Sender) -> list[type]:
        await sender.post("/say", b"{}", {}, stream=False)
        with pytest.raises(wire.APIConnectionError) as lost:
            await sender.post("/say", b"{}", {}, stream=False)
        with pytest.raises(wire.APITimeoutError) as late:
            await sender.post("/say", b"{}", {}, stream=False)
        server.held.set()
        return [type(lost.value), type(late.value)]

    found = play(server, wire, ask, OK, (LOST, {}, b""), (LATE, {}, b""), timeout=0.3)
    assert found == [wire.APIConnectionError, wire.APITimeoutError]


@pytest.mark.parametrize("wire", WIRES)
def test_cookies_are_sent_back_by_later_requests_alone(server: Server, wire: ModuleType) -> None:
    async def ask(sender: Sender) -> None:
        for _ in range(4):
            await sender.post("/say", b"{}", {}, stream=False)

    set_a, set_b = ((200, {"Set-Cookie": f"at={value}"}, b"{}") for value in "ab")
    play(server, wire, ask, set_a, OK, set_b, OK)
    assert [headers.get("cookie") for _, headers, _ in server.asked] == [
        None,
        "at=a",
        "at=a",
        "at=b",
    ]
