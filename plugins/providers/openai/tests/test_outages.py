"""A server that is down is tried again, until it answers or a piece of the answer was shown."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from hookline_hookspecs import BadRequest, Delta, Message, ModelRequest, NetworkError, Overloaded
from hookline_openai import OpenAIProvider
from support.openai_server import OpenAIServer, Reply

Connect = Callable[..., OpenAIProvider]
Serve = Callable[..., OpenAIServer]
NOT_LIMITED = {"max_retries": None}


async def ask(provider: OpenAIProvider, shown: list[Delta]) -> str:
    request = ModelRequest("openai/gpt-5", "", (), (Message.user("hi"),))
    return (await provider.send(provider.render(request), shown.append)).text


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def test_server_that_starts_late_answers(connect: Connect) -> None:
    server = OpenAIServer(["Hello."], port=free_port())
    shown: list[Delta] = []
    asking = asyncio.create_task(ask(connect(server, **NOT_LIMITED), shown))
    with ExitStack() as running:
        async with asyncio.timeout(60):
            while not shown:
                await asyncio.sleep(0.02)
        running.enter_context(server)
        assert await asking == "Hello."
    waits = {delta.wait.reason for delta in shown if delta.wait}
    assert waits == {"the connection to openai failed"}


@pytest.mark.long
@pytest.mark.parametrize(
    "first",
    [
        Reply(chunks=[{"error": {"code": 502, "message": "Provider returned error"}}]),
        Reply(chunks=[{"error": {"code": 529, "message": "overloaded"}, "choices": []}]),
        Reply(body={"error": {"code": 503, "message": "no capacity"}}),
        Reply("The answer, which is long enough for two pieces.", cut_after=0),
    ],
    ids=["stream", "stream with choices", "body", "connection"],
)
async def test_failure_before_the_first_piece_is_retried(
    connect: Connect, serve: Serve, first: Reply
) -> None:
    server = serve([first, "Hello."])
    shown: list[Delta] = []
    assert await ask(connect(server, **NOT_LIMITED), shown) == "Hello."
    assert [delta.kind for delta in shown] == ["waiting", "text"]


async def test_failure_after_the_first_piece_is_left_to_the_turn(
    connect: Connect, serve: Serve
) -> None:
    server = serve([Reply("The whole answer, in several pieces.", cut_after=3), "Hello."])
    with pytest.raises(NetworkError) as raised:
        await ask(connect(server, **NOT_LIMITED), [])
    assert raised.value.partial.startswith("The whole")
    assert "/retry" in str(raised.value)
    assert len(server.requests) == 1


async def test_error_in_a_response_that_waiting_does_not_mend_is_shown_at_once(
    connect: Connect, serve: Serve
) -> None:
    refused = Reply(chunks=[{"error": {"code": 400, "message": "no such thing"}}])
    server = serve([refused, "Hello."])
    with pytest.raises(BadRequest):
        await ask(connect(server, **NOT_LIMITED), [])
    assert len(server.requests) == 1


async def test_retry_seconds_end_the_retries(connect: Connect, serve: Serve) -> None:
    server = serve(lambda _request: Reply(status=503, body={"error": {"message": "down"}}))
    shown: list[Any] = []
    with pytest.raises(Overloaded, match="/retry"):
        await ask(connect(server, **NOT_LIMITED, retry_seconds=1), shown)
    assert 1 <= len(shown) <= 2
    with pytest.raises(Overloaded):
        await ask(connect(server, **NOT_LIMITED, retry_seconds=0), shown)
    with pytest.raises(ValueError, match=r"providers\.openai\.retry_seconds"):
        connect(server, retry_seconds="long")
