"""From the model's first chunk to the client of the API that has it.

``python benchmarks/api_chunk.py [--count N]`` starts ``hookline gateway`` with the standard set on
a new home. A model server and the client are in this process: the server notes when it writes a
chunk, the client when it has read the one that the API made of it. Each request is a new session.
The answer is one word, 20 ms after the request and never with another chunk, so that nothing is
waited for but the way: the model's socket, the SDK, the turn, the API, the client's socket. Prints
a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WAIT = 0.02
"""Seconds that the model takes to its first chunk."""
KEYS = 4
written: dict[str, float] = {}
"""When the model wrote a word, by the word."""


def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    """An event of the model's stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
    return f"data: {json.dumps(head | {'choices': [choice]})}\n\n".encode()


async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one connection's requests, each with the word that it asks for."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            body = await reader.readexactly(length)
            word = body.rpartition(b"word-")[2].split(b'"')[0].split(b"\\")[0].decode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
            writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
            await _send(writer, chunk({"role": "assistant", "content": ""}))
            await asyncio.sleep(WAIT)
            written[word] = time.perf_counter()
            await _send(writer, chunk({"content": f"answer-{word}."}))
            await asyncio.sleep(WAIT)
            await _send(writer, chunk({}, "stop") + b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


async def first_chunk(port: int, key: str, path: str, word: str) -> float:
    """Milliseconds from the model's chunk with this word to the client's."""
    said = f"word-{word}"
    body: dict[str, Any] = {"model": "hookline", "stream": True}
    if path == "/v1/responses":
        body["input"] = said
    else:
        body["messages"] = [{"role": "user", "content": said}]
    content = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n".encode()
        + content
    )
    await reader.readuntil(f"answer-{word}.".encode())
    arrived = time.perf_counter()
    await reader.read()
    writer.close()
    return (arrived - written[word]) * 1000


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def new_key(command: list[str], env: Mapping[str, str]) -> str:
    """Make a key by the command."""
    pipe = asyncio.subprocess.PIPE
    adding = await asyncio.create_subprocess_exec(*command, "--json", env=env, stdout=pipe)
    made: str = json.loads((await adding.communicate())[0])["key"]
    return made


async def measured(home: Path, count: int) -> None:
    """Start the model and the gateway, and print a row for each endpoint."""
    server = await asyncio.start_server(model, "127.0.0.1", 0)
    model_port = server.sockets[0].getsockname()[1]
    probe = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = probe.sockets[0].getsockname()[1]
    probe.close()
    await probe.wait_closed()
    config = {
        "model": "openai/bench",
        "providers": {
            "openai": {
                "base_url": f"http://127.0.0.1:{model_port}/v1",
                "api_key": "no-secret-at-all",
            }
        },
        "plugins": {
            "web-server": {"listen": f"127.0.0.1:{port}"},
            "openai-api": True,
            "titles": False,
            "review": False,
            "user-model": False,
        },
    }
    (home / "config.yaml").write_text(json.dumps(config))
    env = {**os.environ, "HOOKLINE_HOME": str(home)}
    command = [sys.executable, "-m", "hookline"]
    keys = [await new_key([*command, "api", "keys", "add", f"bench{n}"], env) for n in range(KEYS)]
    gateway = await asyncio.create_subprocess_exec(
        *command, "gateway", env=env, stderr=asyncio.subprocess.PIPE
    )
    assert gateway.stderr is not None
    try:
        while await gateway.stderr.readline() != b"ready\n":
            pass
        say("| endpoint | requests | p50 ms | p95 ms | p99 ms |\n|---|---|---|---|---|")
        for path in ("/v1/chat/completions", "/v1/responses"):
            times = []
            for number in range(count + 3):
                word = f"{path[4:6]}{number}"
                times.append(await first_chunk(port, keys[number % KEYS], path, word))
                await asyncio.sleep(0.52 / KEYS)  # below the rate of a key, 120 in a minute
            times = sorted(times[3:])
            p95, p99 = (times[int(len(times) * part)] for part in (0.95, 0.99))
            row = f"{statistics.median(times):.1f} | {p95:.1f} | {p99:.1f}"
            say(f"| `POST {path}` | {count} | {row} |")
        say(f"\nLoad {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores.")
    finally:
        gateway.terminate()
        await gateway.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="requests to each endpoint")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(Path(folder), parser.parse_args().count))
