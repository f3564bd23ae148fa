"""The server over HTTP: who may reach it, and what is refused before the protocol."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from hookline_mcp_server import McpServer
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import Served, called, until

Serve = Callable[..., Served]
Captured = pytest.CaptureFixture[str]


def served_over_http(
    served: Served,
    capsys: Captured,
    work: Callable[[str, str], Awaitable[Any]],
    listen: str = "127.0.0.1:0",
) -> tuple[Any, str]:
    """What ``work(url, token)`` returns, and what the command said."""
    from hookline_mcp_server.transports import serve_http

    plugin = served.harness.plugin(McpServer)
    said: list[str] = []

    def ready() -> str | None:
        said.append(capsys.readouterr().err)
        found = re.search(r"ready: (\S+)", "".join(said))
        return found[1] if found else None

    async def inside() -> Any:
        running = asyncio.ensure_future(serve_http(plugin, listen, fresh=False))
        url = await until(lambda: running.done() or ready())
        if running.done():
            await running
        made = re.search(r"Token, shown only now: (\S+)", "".join(said))
        try:
            return await work(url, made[1] if made else "")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await running

    return served.harness.run(inside()), "".join(said)


def test_client_with_token_is_served_and_token_is_shown_once(
    serve: Serve, capsys: Captured
) -> None:
    async def talk(url: str, token: str) -> Any:
        headers = {"Authorization": f"Bearer {token or kept}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return token, await called(client, "ask_agent", prompt="hello")

    served, kept = serve(model=["hello to you", "again"]), ""
    (kept, answer), _ = served_over_http(served, capsys, talk)
    assert answer["text"] == "hello to you"
    assert served.call("sessions_list")["sessions"][0]["chat"] == "mcp:http"
    (shown, answer), said = served_over_http(served, capsys, talk)
    assert (shown, answer["text"]) == ("", "again")
    assert "Token" not in said
    database = b"".join(one.read_bytes() for one in served.harness.home.glob("hookline.db*"))
    assert kept.encode() not in database


def test_unauthorized_requests_are_refused_before_the_protocol(
    serve: Serve, capsys: Captured
) -> None:
    async def knock(url: str, token: str) -> dict[str, int]:
        good = {"Authorization": f"Bearer {token}"}
        port = url.split(":")[2].split("/")[0]
        tries = {
            "no token": {},
            "wrong token": {"Authorization": f"Bearer {token[:-1]}"},
            "other scheme": {"Authorization": f"Basic {token}"},
            "empty": {"Authorization": "Bearer"},
            "odd bytes": {"Authorization": b"Bearer \xff\xfe"},
            "rebound": good | {"Host": f"evil.example:{port}"},
            "rebound, looks like": good | {"Host": f"127.0.0.1.evil.example:{port}"},
            "user in host": good | {"Host": f"127.0.0.1@evil.example:{port}"},
            "foreign page": good | {"Origin": "https://evil.example"},
            "null page": good | {"Origin": "null"},
            "own page": good | {"Origin": f"http://localhost:{port}", "Accept": "text/plain"},
        }
        found = {}
        async with httpx2.AsyncClient() as http:
            for name, headers in tries.items():
                answer = await http.post(url, headers=headers, json={"jsonrpc": "2.0"})
                found[name] = answer.status_code
            big = b"x" * 5_000_000
            answer = await http.post(url, headers=good, content=big)
            found["too much"] = answer.status_code
        return found

    found, _ = served_over_http(serve(), capsys, knock)
    own = found.pop("own page")
    assert own not in (401, 403, 421)
    assert found == {
        **dict.fromkeys(("no token", "wrong token", "other scheme", "empty", "odd bytes"), 401),
        **dict.fromkeys(("rebound", "rebound, looks like", "user in host"), 421),
        **dict.fromkeys(("foreign page", "null page"), 403),
        "too much": 413,
    }


@pytest.mark.parametrize(
    ("listen", "word"), [("0.0.0.0:0", "hosts"), ("here", "host:port"), ("127.0.0.1:99999", "port")]
)
def test_invalid_listen_address_is_explained(serve: Serve, listen: str, word: str) -> None:
    done = serve().harness.cli(f"mcp serve --http {listen}")
    assert done.exit_code == 2
    assert word in done.stderr
    assert not done.stdout


def test_used_address_is_reported(serve: Serve) -> None:
    served = serve()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = served.harness.cli(f"mcp serve --http {place}")
    assert done.exit_code == 2
    assert f"hookline: cannot listen on {place}: " in done.stderr
    assert "Traceback" not in done.stderr
