"""Slow fetches and waiting tools of one chat do not delay other chats, in the real core."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hookline.io.http.request_slots import MAX_PER_CHAT, MAX_TOTAL, RequestSlots
from hookline_hookspecs import Plugin, ToolCall, tool
from hookline_hookspecs.plugin import NoConfig

MANY = 150


class Slow(ThreadingHTTPServer):
    """Answers ``/quick`` at once, and all else when it is released."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.released = threading.Event()
        self.hanging = threading.Semaphore(0)
        self.served = 0


class Handler(BaseHTTPRequestHandler):
    server: Slow

    def do_GET(self) -> None:
        if self.path != "/quick":
            self.server.served += 1
            self.server.hanging.release()
            self.server.released.wait(60)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


class Asks(Plugin[NoConfig]):
    """Fetches, waits in a thread, and looks."""

    @tool(read_only=True)
    async def fetch(self, url: str) -> str:
        """Fetch a URL."""
        return (await self.host.http.get(url, timeout=60)).text

    @tool(read_only=True)
    def sleep(self) -> str:
        """Wait in a thread until all is released."""
        WAITING.release()
        RELEASED.wait(60)
        return "slept"

    @tool(read_only=True)
    def look(self) -> str:
        """Look at once, in a thread."""
        return "seen"

    @tool(read_only=True)
    async def read(self) -> str:
        """Read with a thread of the event loop's own."""
        return await asyncio.to_thread(lambda: "read")


WAITING, RELEASED = threading.Semaphore(0), threading.Event()


async def all_of(semaphore: threading.Semaphore, count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(semaphore.acquire, timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fetch", "sleep"])
def test_hanging_calls_in_one_chat_do_not_delay_others(
    harness: Callable[..., Any], kind: str
) -> None:
    server = Slow()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    RELEASED.clear()
    hanging = server.hanging if kind == "fetch" else WAITING
    arguments = {"url": f"{url}/slow"} if kind == "fetch" else {}
    slow = [ToolCall("", kind, arguments) for _ in range(MANY)]
    quick = [ToolCall("", "fetch", {"url": f"{url}/quick"}), ToolCall("", "look", {})]
    quick.append(ToolCall("", "read", {}))

    def model(request: Any) -> Any:
        last = request.messages[-1]
        if last.speaker == "tool":
            return f"{sum(block.ok for block in last.blocks)} done"
        return slow if "many" in last.text else quick

    h = harness(Asks, model=[model] * 4, core={"network.allow_hosts": ["127.0.0.1"]})

    async def story() -> None:
        await h.aopen()
        channel = h.channel
        first = asyncio.ensure_future(channel.say("many", chat="a"))
        await all_of(hanging, MAX_PER_CHAT)
        await channel.say("few", chat="b")
        assert [reply.text for reply in await channel.replies(1)] == ["3 done"]
        assert not hanging.acquire(blocking=False)  # no more than a chat's share has begun
        RELEASED.set()
        server.released.set()
        await first
        texts = [reply.text for reply in await channel.replies(2)]
        assert texts[1] == f"{MANY} done"

    try:
        h.run(story())
    finally:
        RELEASED.set()
        server.released.set()
        server.shutdown()
        server.server_close()


async def test_turns_rotate_among_chats_within_the_total_limit() -> None:
    slots, order, held = RequestSlots(per_chat=2, total=3), [], []

    async def ask(chat: str, number: int) -> None:
        async with slots.slot(chat):
            order.append(f"{chat}{number}")
            held.append(event := asyncio.Event())
            await event.wait()

    async def settle() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(ask(c, n)) for c in "abc" for n in range(1, 4)]
    await settle()
    assert order == ["a1", "a2", "b1"]
    tasks[2].cancel()  # a3 gives up while it waits
    while len(order) < 8:
        held[len(order) - 3].set()
        await settle()
        assert sum(not one.is_set() for one in held) <= 3
    for event in held:
        event.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order.index("c1") < order.index("b3")
    assert sorted(order) == ["a1", "a2", "b1", "b2", "b3", "c1", "c2", "c3"]
    assert MAX_PER_CHAT * 2 <= MAX_TOTAL
