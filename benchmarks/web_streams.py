"""What the web page's server holds and sends: open streams, and a long session that is opened.

``python benchmarks/web_streams.py [--streams 1000] [--quick]`` prints a Markdown table. A real
gateway with ``web-server``, ``web-ui`` and a scripted model runs in a process of its own; the
reader of the streams, in another, keeps sockets and nothing else, so that its time is small beside
the server's.

*A stream*: growth of the gateway's resident memory (``VmRSS``), divided by the streams. *Fan-out*:
from a title that is set to each stream that has its event, for every stream, over all rounds; the
clock is the same, because both run on one machine. *Opening*: ``GET /api/sessions/ID?tail=50`` of
sessions with 2,000 and 10,000 messages, over a connection that is open; medians. Wanted: at most
40 kB a stream, p99 of the fan-out 250 ms, 500 ms for 2,000 messages.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx2

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
PEOPLE = 64
"""People, because each may have 16 streams."""
FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns)
INSERT INTO messages (session_id, seq, turn_id, role, body, text, created)
SELECT m.session_id, m.seq + 2 * n.i, 't' || n.i, m.role, m.body, m.text, m.created + n.i
FROM n, messages m WHERE m.session_id = :id AND m.seq <= 2
"""
ANSWER = "Some words of an answer, *formatted* as models do it, of a usual length. " * 12
DOOR = f"""
PEOPLE = {PEOPLE}
import json
from hookline_hookspecs import GatewayService, Plugin, hookimpl
from hookline_hookspecs.web import WebServer


class Extra(Plugin):
    needs_no_channel = False
    runs_turns = False

    @hookimpl
    def setup(self, host):
        host.services.add(GatewayService, self)

    async def gateway_up(self, channels):
        server = self.host.services[WebServer]
        found = dict()
        for number in range(PEOPLE):
            name = "reader%d" % number
            logins = server.logins
            link = await server.link(name, "operator")
            login = await logins.redeem(link.code, "benchmark", None, switch=False)
            found[name] = login.token
        (self.host.home / "tokens.json").write_text(json.dumps(found))

    async def gateway_stopping(self):
        pass
"""


class Stream(asyncio.Protocol):
    """A stream that notes when an event with a mark came."""

    def __init__(self, request: bytes, seen: dict[str, list[float]]) -> None:
        self._request, self._seen, self._rest = request, seen, b""
        self.is_open = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Ask for the events."""
        transport.write(self._request)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Search the data for marks."""
        now, data = perf_counter(), self._rest + data
        if not self.is_open.done() and b": connected" in data:
            self.is_open.set_result(None)
        for mark in self._seen:
            if f'"title":"{mark}"'.encode() in data:
                self._seen[mark].append(now)
                data = b""
        self._rest = data[-200:]


def memory(pid: int) -> float:
    """Resident memory of a process in kB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS")))


def prepare(folder: Path) -> None:
    """Install the plugin that logs readers in."""
    info = folder / "site" / "extra_door-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "site" / "extra_door.py").write_text(DOOR)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-door\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hookline.plugins]\ndoor = extra_door:Extra\n")


async def said(client: httpx2.AsyncClient, text: str) -> str:
    """Send a message to a new chat and return its id once it is answered."""
    session = str(uuid4())
    body = {"message_id": str(uuid4()), "text": text}
    answer = await client.post(f"/api/sessions/{session}/messages", json=body)
    assert answer.status_code == 202, answer.text
    while True:
        found = await client.get(f"/api/sessions/{session}")
        if found.status_code == 200 and len(found.json()["messages"]) == 2:
            return session
        await asyncio.sleep(0.05)


async def streams(
    url: str, cookies: list[str], client: Any, pid: int, count: int, rounds: int
) -> tuple[float, list[float]]:
    """Memory of a stream in kB, and seconds of the fan-out."""
    session = await said(client, "hello")
    seen: dict[str, list[float]] = {}
    host, port = url.removeprefix("http://").split(":")
    before, loop, opened = memory(pid), asyncio.get_running_loop(), []
    for number in range(count):
        cookie = cookies[number % len(cookies)]
        head = f"GET /api/events?sessions={session} HTTP/1.1\r\nHost: {host}:{port}\r\n"
        request = f"{head}Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n".encode()
        _, made = await loop.create_connection(lambda r=request: Stream(r, seen), host, int(port))
        opened.append(made)
        async with asyncio.timeout(20):
            await made.is_open
    await asyncio.sleep(2)
    each = (memory(pid) - before) / count
    found: list[float] = []
    for number in range(rounds):
        mark = f"round {number}"
        seen[mark] = []
        start = perf_counter()
        await client.patch(f"/api/sessions/{session}", json={"title": mark})
        while len(seen[mark]) < count:
            await asyncio.sleep(0.01)
            assert perf_counter() - start < 30, f"{len(seen[mark])} of {count}"
        found += [one - start for one in seen.pop(mark)]
        await asyncio.sleep(0.2)
    for one in opened:
        one.transport.close()
    return each, found


async def opening(client: Any, home: Path, messages: int, samples: int) -> float:
    """Seconds until the end of a session of this many messages has loaded."""
    session = await said(client, "hello")
    with closing(sqlite3.connect(home / "hookline.db", timeout=30)) as db, db:
        db.execute(FILL, {"turns": messages // 2 - 1, "id": session})
    db.close()
    await asyncio.sleep(5)  # what other plugins make of the new messages is none of the opening
    taken = []
    for _ in range(samples + 1):
        start = perf_counter()
        found = await client.get(f"/api/sessions/{session}?tail=50")
        taken.append(perf_counter() - start)
        assert len(found.json()["messages"]) == 50
    return statistics.median(taken[1:])


async def measure(gateway: Any, count: int, rounds: int) -> list[tuple[str, str, str]]:
    """The rows of the table."""
    port = gateway.url.rpartition(":")[2]
    tokens = json.loads((gateway.home / "tokens.json").read_text())
    cookies = [f"hookline-{port}={token}" for token in tokens.values()]
    own = {"Origin": gateway.url, "Cookie": cookies[0]}
    async with httpx2.AsyncClient(
        base_url=gateway.url, headers=own, trust_env=False, timeout=60
    ) as client:
        small = await opening(client, gateway.home, 2_000, 4 * rounds)
        large = await opening(client, gateway.home, 10_000, 4 * rounds)
        pid = gateway.process.pid
        each, found = await streams(gateway.url, cookies, client, pid, count, rounds)
    found.sort()
    p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
    return [
        (f"a stream, of {count:,}", f"{each:.1f} kB", "40 kB"),
        ("fan-out to all of them, median", f"{p50 * 1000:.0f} ms", ""),
        ("fan-out to all of them, p99", f"{p99 * 1000:.0f} ms", "250 ms"),
        ("opening 2,000 messages", f"{small * 1000:.1f} ms", "500 ms"),
        ("opening 10,000 messages", f"{large * 1000:.1f} ms", ""),
    ]


def main() -> None:
    """Measure and print."""
    import os

    from support import web

    asked = argparse.ArgumentParser()
    asked.add_argument("--streams", type=int, default=1000)
    asked.add_argument("--quick", action="store_true")
    options = asked.parse_args()
    plain = web.streams
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)

        def streams_of(where: Path) -> dict[str, Any]:
            found = plain(where)
            found["env"]["PYTHONPATH"] = str(folder / "site")
            found["stderr"] = None if os.environ.get("SHOW") else found["stderr"]
            return found

        web.streams = streams_of
        script = json.dumps({"steps": [{"text": ANSWER, "repeat": True}]})
        with web.gateway(folder, script, door=True, access={}) as gateway:
            rows = asyncio.run(measure(gateway, options.streams, 2 if options.quick else 10))
    sys.stdout.write("| | measured | wanted at most |\n|---|---|---|\n")
    for row in rows:
        sys.stdout.write(f"| {' | '.join(row)} |\n")


if __name__ == "__main__":
    main()
