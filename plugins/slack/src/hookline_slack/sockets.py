"""Two websockets of Socket Mode: what one misses while it is renewed, the other receives.

Not the library's client: that closes the old socket before the new one is open, tries the same
single-use address again after a failure, and runs listeners side by side, so that order is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import aiohttp
import hookline_channelkit as kit
from hookline_hookspecs import Host

from .api import Api
from .config import Json

SOCKETS = 2
"""Of the ten that an app may have (docs.slack.dev/apis/events-api/using-socket-mode)."""
HEARTBEAT = 10.0
"""Seconds between two pings; a pong that does not come within half of it ends the socket."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds after a failure; they double."""
LINGER = 30.0
"""Seconds that a socket is listened to after Slack has asked for another."""
STEADY = 60.0
"""Seconds after which a socket that ends was a good one."""
ASKED = frozenset({"warning", "refresh_requested"})
Acknowledge: TypeAlias = Callable[[], Awaitable[None]]
Serve: TypeAlias = Callable[[str, Json, Acknowledge], Coroutine[Any, Any, None]]


class Sockets:
    """Keeps the sockets open.

    Args:
        host: the plugin's host.
        api: gives the addresses.
        serve: gets type and payload of each envelope, and what acknowledges it; one call is begun
            after the other, in the order in which they came.
    """

    def __init__(self, host: Host, api: Api, serve: Serve) -> None:
        self._host, self._api, self._serve = host, api, serve
        self._tasks: set[asyncio.Task[Any]] = set()
        self._complaints = kit.Complaints(host.log)
        self._open: set[int] = set()
        self._ready = asyncio.Event()
        self._fault: kit.CannotStart | None = None

    @property
    def is_open(self) -> bool:
        """True if something is received."""
        return bool(self._open)

    async def start(self, take: kit.Take, seconds: float) -> None:
        """Open the sockets; return when one is open, or after that time: then they are tried again
        and again. Raises :class:`CannotStart`."""
        self._ready.clear()
        self._fault = None
        for number in range(SOCKETS):
            self._spawn(self._keep(take), f"socket {number + 1}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        if self._fault is not None:
            await self.stop()
            raise self._fault

    async def stop(self) -> None:
        """Close them."""
        while tasks := set(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = self._host.spawn(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _keep(self, take: kit.Take) -> None:
        """Have one socket, and the next one after it."""
        loop, wait, is_gap = asyncio.get_running_loop(), FIRST_WAIT, False
        while True:
            began = loop.time()
            try:
                url = (await self._api.ask("apps_connections_open"))["url"]
                socket = await self._api.session.ws_connect(
                    url, heartbeat=HEARTBEAT, max_msg_size=0
                )
                if is_gap:
                    take.reconnected()
                asked: asyncio.Future[None] = loop.create_future()
                hearing = self._spawn(self._hear(socket, take, asked), "hear")
                await asyncio.wait({hearing, asked}, return_when=asyncio.FIRST_COMPLETED)
                is_gap = not asked.done()
                if not is_gap:  # the old one is listened to until the new one is there, and on
                    loop.call_later(LINGER, hearing.cancel)
                    if loop.time() - began > FIRST_WAIT:
                        continue
            except kit.CannotStart as error:
                self._fault, wait = error, LONGEST_WAIT
                self._ready.set()
                self._complaints.tell(str(error))
            except (kit.WireError, aiohttp.ClientError, OSError, TimeoutError) as error:
                is_gap = True  # the address in some of their texts is secret
                told = str(error) if isinstance(error, kit.WireError) else type(error).__name__
                self._complaints.tell(f"not receiving: {told}")
            wait = FIRST_WAIT if loop.time() - began > STEADY else wait
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _hear(
        self, socket: aiohttp.ClientWebSocketResponse, take: kit.Take, asked: asyncio.Future[None]
    ) -> None:
        try:
            async for message in socket:
                take.heard()
                if message.type != aiohttp.WSMsgType.TEXT:
                    continue
                envelope: Json = json.loads(message.data)
                if envelope.get("type") == "hello":
                    self._open.add(id(socket))
                    self._ready.set()
                    self._complaints.over("receiving again")
                elif envelope.get("type") == "disconnect":
                    if envelope.get("reason") in ASKED and not asked.done():
                        asked.set_result(None)
                    elif not asked.done():
                        self._complaints.tell(f"Slack ends a socket: {envelope.get('reason')}")
                        break
                elif "envelope_id" in envelope:
                    self._take(socket, envelope)
        finally:
            self._open.discard(id(socket))
            await socket.close()

    def _take(self, socket: aiohttp.ClientWebSocketResponse, envelope: Json) -> None:
        async def acknowledge() -> None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await socket.send_str(json.dumps({"envelope_id": envelope["envelope_id"]}))

        kind, payload = str(envelope.get("type")), envelope.get("payload") or {}
        self._spawn(self._serve(kind, payload, acknowledge), "envelope")
