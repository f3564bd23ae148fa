"""The command, started by a client as an editor starts it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from .conftest import called

SECRET = "very-secret-value-1234567890"
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without the plugin in its config."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    model = tmp_path / "model.yaml"
    model.write_text(f"steps: [{{text: 'the key is {SECRET}', repeat: true}}]\n", "utf-8")
    config = f"model: scripted/{model}\nproviders: {{openai: {{api_key: '${{KEY_OF_MINE}}'}}}}\n"
    (home / "config.yaml").write_text(config, "utf-8")
    return home


def environment(home: Path) -> dict[str, str]:
    """What the server is started with."""
    return os.environ | {"HOOKLINE_HOME": str(home), "KEY_OF_MINE": SECRET}


@pytest.mark.slow
def test_client_starts_server_and_asks_agent(home: Path) -> None:
    words = ["-m", "hookline", "mcp", "serve"]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment(home))

    async def talk() -> tuple[Any, Any]:
        async with Client(server) as client:
            answer = await called(client, "ask_agent", prompt="hello")
            return answer, await called(client, "messages_read", session=answer["session"])

    answer, read = asyncio.run(talk())
    assert answer["stop"] == "done"
    assert answer["text"].startswith("the key is ")
    assert read["messages"][0]["text"] == "hello"
    assert "very-secret" not in json.dumps([answer, read])


@pytest.mark.slow
def test_stdout_has_only_protocol_messages(home: Path) -> None:
    asked = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "sessions_list", "arguments": {}}},
        {"id": 3, "method": "nonsense"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **one}) for one in asked]
    lines.insert(2, "this is no message \ud83d".encode("utf-8", "replace").decode())
    started = subprocess.Popen(
        [sys.executable, "-m", "hookline", "mcp", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home),
        text=True,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write("\n".join(lines) + "\n")
    started.stdin.flush()
    ids = set()
    while not {1, 2, 3} <= ids:
        ids.add(json.loads(started.stdout.readline()).get("id"))
    rest, _ = started.communicate(timeout=60)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert started.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [(), ("--http", "127.0.0.1:0")])
def test_signal_ends_idle_server(
    home: Path, number: signal.Signals, words: tuple[str, ...]
) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "hookline", "mcp", "serve", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        text=True,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    assert started.stderr is not None
    if words:
        while "ready" not in started.stderr.readline():
            pass
    else:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        started.stdin.write(json.dumps(asked) + "\n")
        started.stdin.flush()
        started.stdout.readline()
    started.send_signal(number)
    assert started.wait(30) == 0
    for stream in (started.stdin, started.stdout, started.stderr):
        stream.close()


@pytest.mark.slow
def test_line_without_end_closes_connection(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "mcp", "serve"],
        input=b"x" * 9_000_000,
        capture_output=True,
        env=environment(home),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == b""
