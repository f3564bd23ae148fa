"""The gateway half of a fake Discord: sessions, sequences, heartbeats, RESUME and IDENTIFY.

Close codes and intents: discord.com/developers/docs/topics/gateway.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from .discord_world import APPLICATION, BOT, BOT_ID, Room, World

GUILDS, GUILD_MESSAGES, GUILD_REACTIONS = 1 << 0, 1 << 9, 1 << 10
DIRECT_MESSAGES, DIRECT_REACTIONS, CONTENT = 1 << 12, 1 << 13, 1 << 15
PRIVILEGED = CONTENT | 1 << 1 | 1 << 8


def wanted_by(event: str, room: Room | None) -> int:
    """The intent that an event needs; 0 for none."""
    is_private = room is not None and room.guild is None
    if event.startswith("MESSAGE_REACTION"):
        return DIRECT_REACTIONS if is_private else GUILD_REACTIONS
    if event.startswith("MESSAGE_"):
        return DIRECT_MESSAGES if is_private else GUILD_MESSAGES
    return GUILDS if event.startswith(("GUILD_", "CHANNEL_", "THREAD_")) else 0


@dataclass(slots=True)
class Link:
    """A session, which outlives its sockets."""

    id: str
    intents: int
    last: int = 0
    sent: list[tuple[int, str, Any]] = field(default_factory=list)
    socket: Socket | None = None


class Socket:
    """One websocket, written by a task of its own."""

    def __init__(self, ws: web.WebSocketResponse, compress: bool) -> None:
        self.ws = ws
        self._deflate = zlib.compressobj() if compress else None
        self.queue: asyncio.Queue[Any] = asyncio.Queue()
        self.beaten = time.monotonic()
        self.sent = 0

    async def write(self) -> None:
        while True:
            item = await self.queue.get()
            if isinstance(item, int):
                await self.ws.close(code=item)
                return
            text = item if isinstance(item, str) else json.dumps(item)
            if self._deflate is None:
                await self.ws.send_str(text)
            else:
                data = self._deflate.compress(text.encode()) + self._deflate.flush(
                    zlib.Z_SYNC_FLUSH
                )
                half = len(data) // 2 if len(data) > 200 else len(data)  # frames may be split
                for part in (data[:half], data[half:]):
                    if part:
                        await self.ws.send_bytes(part)


class Gateway:
    """Every session and its events. Its methods may be called from any thread."""

    def __init__(self, world: World, token: str, changed: Any) -> None:
        self.world, self.token, self._changed = world, token, changed
        self.loop: asyncio.AbstractEventLoop | None = None
        self.links: dict[str, Link] = {}
        self.url = ""
        self.heartbeat = 40.0
        """Seconds between two heartbeats that are asked for."""
        self.identifies: list[float] = []
        self.resumes = 0
        self.identifies_left = 1000
        self.identify_every = 0.0
        self.is_deaf = False
        """Sockets stay open and nothing comes over them."""
        self.refuse_sessions = False
        """Every IDENTIFY is answered with op 9."""
        self.closed_with: list[int] = []
        self.beats = 0

    # What a test does

    @property
    def online(self) -> list[Link]:
        """Sessions that have a socket."""
        return [one for one in self.links.values() if one.socket is not None]

    def tell(self, event: str, data: Any, room: Room | None = None, times: int = 1) -> None:
        """Dispatch an event to every session that has the intent for it."""
        with self._changed:
            intent = wanted_by(event, room)
            for link in self.links.values():
                if intent and not link.intents & intent:
                    continue
                payload = data
                if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and room is not None:
                    shown = room.messages.get(int(data["id"]))
                    if shown is not None:
                        content = bool(link.intents & CONTENT)
                        payload = data | self.world.json(shown, content=content)
                    if room.guild is not None:
                        payload = payload | {"guild_id": str(room.guild), "member": {"roles": []}}
                for _ in range(times):
                    link.last += 1
                    link.sent.append((link.last, event, payload))
                    self._send(link, {"op": 0, "t": event, "s": link.last, "d": payload})
            self._changed.notify_all()

    def put(self, item: Any) -> None:
        """Send something to every socket: a payload, text, or a code to close with."""
        for link in self.online:
            self._send(link, item)

    def cut(self) -> None:
        """Break every socket without a close frame."""
        sockets = [link.socket for link in self.online if link.socket is not None]

        def work() -> None:
            for one in sockets:
                transport = one.ws._req.transport if one.ws._req is not None else None
                if transport is not None:
                    transport.abort()

        assert self.loop is not None
        self.loop.call_soon_threadsafe(work)

    def forget(self) -> None:
        """No session can be resumed any more."""
        with self._changed:
            self.links = {id_: one for id_, one in self.links.items() if one.socket is not None}
            for link in self.links.values():
                link.sent.clear()
                link.id = "forgotten"
            self.links = {f"{n}": link for n, link in enumerate(self.links.values())}

    def _send(self, link: Link, item: Any) -> None:
        socket = link.socket
        if socket is None or self.is_deaf or self.loop is None:
            return
        self.loop.call_soon_threadsafe(socket.queue.put_nowait, item)

    # Sockets

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse(autoping=True, max_msg_size=4096)
        await ws.prepare(request)
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            await ws.close(code=4012)
            return ws
        socket = Socket(ws, request.query.get("compress") == "zlib-stream")
        writer = asyncio.ensure_future(socket.write())
        keeper = asyncio.ensure_future(self._keep(socket))
        socket.queue.put_nowait({"op": 10, "d": {"heartbeat_interval": self.heartbeat * 1000}})
        link: Link | None = None
        try:
            async for message in ws:
                if message.type != WSMsgType.TEXT:
                    break
                if self.is_deaf:
                    continue
                link = self._hear(socket, link, message.data)
        finally:
            for task in (writer, keeper):
                task.cancel()
            with self._changed:
                if ws.close_code is not None:
                    self.closed_with.append(ws.close_code)
                if link is not None and link.socket is socket:
                    link.socket = None
                self._changed.notify_all()
        return ws

    async def _keep(self, socket: Socket) -> None:
        """Close a socket that does not beat."""
        while True:
            await asyncio.sleep(self.heartbeat / 2)
            if time.monotonic() - socket.beaten > self.heartbeat * 1.5 and not self.is_deaf:
                socket.queue.put_nowait(4009)

    def _hear(self, socket: Socket, link: Link | None, text: str) -> Link | None:
        try:
            payload = json.loads(text)
            op, data = payload["op"], payload["d"]
        except (ValueError, KeyError):
            socket.queue.put_nowait(4002)
            return link
        socket.sent += 1
        if socket.sent > 120 * (1 + (time.monotonic() - socket.beaten) // 60):
            socket.queue.put_nowait(4008)
            return link
        with self._changed:
            if op == 1:
                socket.beaten = time.monotonic()
                self.beats += 1
                socket.queue.put_nowait({"op": 11})
            elif op == 2 and link is None:
                link = self._identify(socket, data)
            elif op == 6 and link is None:
                link = self._resume(socket, data)
            elif op in (2, 6):
                socket.queue.put_nowait(4005)
            elif op not in (3, 4, 8):
                socket.queue.put_nowait(4001)
            elif link is None:
                socket.queue.put_nowait(4003)
            self._changed.notify_all()
        return link

    def _identify(self, socket: Socket, data: dict[str, Any]) -> Link | None:
        now = time.monotonic()
        too_fast = bool(self.identifies) and now - self.identifies[-1] < self.identify_every
        self.identifies.append(now)
        self.identifies_left -= 1
        if self.identifies_left < 0:
            self.token = "reset"
        if data.get("token") != self.token:
            socket.queue.put_nowait(4004)
            return None
        intents = data.get("intents")
        if not isinstance(intents, int) or "properties" not in data:
            socket.queue.put_nowait(4013)
            return None
        allowed = CONTENT if self.world.message_content else 0
        if intents & PRIVILEGED & ~allowed:
            socket.queue.put_nowait(4014)
            return None
        if too_fast or self.refuse_sessions:
            socket.queue.put_nowait({"op": 9, "d": False})
            return None
        link = Link(f"s{len(self.identifies)}", intents, socket=socket)
        self.links[link.id] = link
        guilds = [{"id": str(one), "unavailable": True} for one in self.world.guilds]
        self._dispatch(
            link,
            "READY",
            {
                "v": 10,
                "user": BOT,
                "guilds": guilds,
                "session_id": link.id,
                "session_type": "normal",
                "resume_gateway_url": self.url,
                "private_channels": [],
                "application": {"id": str(APPLICATION), "flags": 0},
            },
        )
        if intents & GUILDS:
            for guild in self.world.guilds.values():
                self._dispatch(link, "GUILD_CREATE", self.guild_json(guild.id))
        return link

    def guild_json(self, id_: int) -> dict[str, Any]:
        """A server as it is sent at the beginning, with the last id of every open channel."""
        guild = self.world.guilds[id_]
        rooms = [self.world.rooms[one] for one in guild.rooms]
        return {
            "id": str(id_),
            "name": guild.name,
            "unavailable": False,
            "channels": [one.json for one in rooms if one.parent is None],
            "threads": [one.json for one in rooms if one.parent and not one.archived],
            "members": [{"user": BOT, "roles": [str(guild.role)]}],
            "roles": [
                {
                    "id": str(guild.role),
                    "name": "Hook",
                    "permissions": str(guild.permissions),
                    "tags": {"bot_id": str(BOT_ID)},
                }
            ],
        }

    def _resume(self, socket: Socket, data: dict[str, Any]) -> Link | None:
        if data.get("token") != self.token:
            socket.queue.put_nowait(4004)
            return None
        link = self.links.get(str(data.get("session_id")))
        if link is None or not isinstance(data.get("seq"), int) or data["seq"] > link.last:
            socket.queue.put_nowait({"op": 9, "d": False})
            return None
        self.resumes += 1
        if link.socket is not None:
            link.socket.queue.put_nowait(4000)
        link.socket = socket
        for number, event, payload in link.sent:
            if number > data["seq"]:
                self._send(link, {"op": 0, "t": event, "s": number, "d": payload})
        self._dispatch(link, "RESUMED", {"_trace": []})
        return link

    def _dispatch(self, link: Link, event: str, data: Any) -> None:
        link.last += 1
        link.sent.append((link.last, event, data))
        self._send(link, {"op": 0, "t": event, "s": link.last, "d": data})
