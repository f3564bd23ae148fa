"""A fake Discord on loopback, with the limits and faults of the real one.

REST and gateway over real sockets, for the real client library. It refuses what Discord refuses
(:mod:`.discord_world`, :mod:`.discord_rest`), keeps sessions (:mod:`.discord_socket`), and is
played by tests: people write with :meth:`DiscordApi.say` and its kin, and :class:`Fault` makes it
misbehave.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from .discord_rest import Rest, deletion, read_json
from .discord_socket import Gateway
from .discord_world import (
    BOT_ID,
    GROUP_DM,
    VOICE,
    ApiError,
    Guild,
    Room,
    ShownMessage,
    World,
    new_token,
)

PATIENCE = float(os.environ.get("DISCORD_TEST_PATIENCE", "60"))
"""Seconds until a test gives up; none waits for it to pass."""


@dataclass(slots=True)
class Fault:
    """A fault that some requests meet.

    ``500`` and ``502`` answer so without doing anything, ``502-done`` after doing it; ``429``
    answers with a wait; ``silent`` never answers and does nothing; ``drop`` does what was asked and
    hangs up; ``refuse`` hangs up and does nothing; ``hold`` does it and never answers.
    """

    kind: str
    route: str = ""
    times: int | None = 1
    seconds: float = 1.0
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its outcome; ``status`` 0 means no response."""

    method: str
    path: str
    body: Any
    status: int
    at: float

    @property
    def route(self) -> str:
        """The method and the last word of the path that is no number."""
        words = [part for part in self.path.split("/") if not part.isdigit()]
        return f"{self.method} {words[-1]}"


@dataclass(slots=True)
class Bucket:
    """``limit`` requests in ``window`` seconds."""

    limit: int
    window: float
    begun: float = 0.0
    used: int = 0
    banned_until: float = 0.0


@dataclass
class DiscordApi:
    """The server. ``flood`` is the limit of messages in one channel: how many, in how many seconds.
    0 is none."""

    token: str = field(default_factory=new_token)
    flood: tuple[int, float] = (0, 5.0)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    violations: int = 0
    """Requests to a bucket during its rate limit."""
    errors: int = 0
    """Answers 401, 403 and 429: ten thousand in ten minutes are a ban."""

    def __post_init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.world = World()
        self.gateway = Gateway(self.world, self.token, self.changed)
        self.rest = Rest(self.world, self.gateway)
        self._buckets: dict[str, Bucket] = {}
        self._ready = threading.Event()
        self._port = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        self._ready.wait(PATIENCE)

    # Where it is

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/api/v10"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/gateway"

    async def _main(self) -> None:
        loop = self.gateway.loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_route("*", "/{rest:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        self._port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        self.rest.base, self.gateway.url = self.api_url, self.gateway_url
        self._loop = loop
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    # What a test asks

    def wait(self, until: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait until the condition holds; return its value."""
        with self.changed:
            met = self.changed.wait_for(until, patience)
            last = [(c.method, c.path[-40:], c.status) for c in self.calls[-12:]]
            assert met, (last, [one.text[:60] for one in self.messages()[-8:]])
            return met

    def place(self, chat: int) -> Room:
        """A channel by its id, or the private chat with a person by theirs."""
        return self.world.rooms.get(chat) or self.world.dm_of(chat)

    def messages(self, chat: int | None = None) -> list[ShownMessage]:
        """The bot's current messages, oldest first."""
        with self.changed:
            rooms = list(self.world.rooms.values()) if chat is None else [self.place(chat)]
            found = [one for room in rooms for one in room.messages.values()]
            return sorted(
                (one for one in found if one.is_mine and not one.is_deleted), key=lambda o: o.id
            )

    def texts(self, chat: int | None = None) -> list[str]:
        return [one.text for one in self.messages(chat)]

    def find(self, part: str, chat: int | None = None) -> ShownMessage:
        """Wait for the bot's first message that contains a text."""

        def found() -> ShownMessage | None:
            return next((one for one in self.messages(chat) if part in one.text), None)

        shown: ShownMessage = self.wait(found)
        return shown

    def count(self, route: str, status: int | None = None) -> int:
        """The number of requests so far, such as ``POST messages``."""
        return Counter(
            (call.route, call.status if status is not None else None) for call in self.calls
        )[route, status]

    # What people do

    def guild(self, name: str = "Lab") -> Guild:
        """A server that the bot is in."""
        with self.changed:
            made = self.world.add_guild(name)
            self.gateway.tell("GUILD_CREATE", self.gateway.guild_json(made.id))
            return made

    def channel(self, guild: Guild, name: str = "general", parent: int | None = None) -> int:
        """A channel of it, or a thread; its id."""
        with self.changed:
            room = self.world.add_room(guild.id, name, parent)
            kind = "CHANNEL_CREATE" if parent is None else "THREAD_CREATE"
            self.gateway.tell(kind, room.json, room)
            return room.id

    def write(self, chat: int, text: str, user: int | None = None, **more: Any) -> ShownMessage:
        """A message without an event, of a person; of ``chat`` itself if that is a person."""
        with self.changed:
            room = self.place(chat)
            return self.world.add(room, user if user is not None else chat, text, **more)

    def tell(self, shown: ShownMessage, times: int = 1) -> None:
        """The event of a message, perhaps more than once."""
        room = self.place(shown.chat)
        self.gateway.tell("MESSAGE_CREATE", self.world.json(shown), room, times)

    def say(self, chat: int, text: str, user: int | None = None, **more: Any) -> ShownMessage:
        """A person writes; return the message."""
        with self.changed:
            times = more.pop("times", 1)
            shown = self.write(chat, text, user, **more)
            self.tell(shown, times)
            return shown

    def send(
        self, chat: int, name: str, data: bytes, user: int | None = None, *, text: str = "",
        mime: str | None = None, size: int | None = None, voice: float | None = None,
    ) -> ShownMessage:  # fmt: skip
        """Send a file; ``size`` is claimed instead of the real one, ``voice`` in seconds."""
        with self.changed:
            room = self.place(chat)
            about = {"content_type": mime, "duration_secs": voice, "waveform": voice and "AAA="}
            made = self.rest.person_attachment(room, name, data, **about)
            made["size"] = size if size is not None else made["size"]
            flags = VOICE if voice is not None else 0
            shown = self.write(chat, text, user, files=[made], flags=flags)
            self.tell(shown)
            return shown

    def edit(self, shown: ShownMessage, text: str) -> None:
        """A person edits a message."""
        with self.changed:
            shown.text, shown.edited = text, time.time()
            room = self.place(shown.chat)
            self.gateway.tell("MESSAGE_UPDATE", self.world.json(shown), room)

    def delete(self, shown: ShownMessage) -> None:
        """A person deletes a message."""
        with self.changed:
            shown.is_deleted = True
            room = self.place(shown.chat)
            self.gateway.tell("MESSAGE_DELETE", deletion(room, shown), room)

    def delete_together(self, *shown: ShownMessage) -> None:
        """A moderator deletes several messages."""
        with self.changed:
            for one in shown:
                one.is_deleted = True
            room = self.place(shown[0].chat)
            event = deletion(room, shown[0])
            del event["id"]
            self.gateway.tell(
                "MESSAGE_DELETE_BULK", event | {"ids": [str(o.id) for o in shown]}, room
            )

    def react(self, shown: ShownMessage, emoji: str, user: int, *, away: bool = False) -> None:
        """A person reacts to a message."""
        with self.changed:
            room = self.place(shown.chat)
            data: dict[str, Any] = {
                "user_id": str(user),
                "channel_id": str(room.id),
                "message_id": str(shown.id),
                "emoji": {"id": None, "name": emoji},
                "message_author_id": shown.author["id"],
                "burst": False,
                "type": 0,
            }
            if room.guild is not None:
                member = {"user": self.world.user(user), "roles": []}
                data |= {"guild_id": str(room.guild), "member": member}
            event = "MESSAGE_REACTION_REMOVE" if away else "MESSAGE_REACTION_ADD"
            self.gateway.tell(event, data, room)

    def press(self, shown: ShownMessage, label: str, user: int) -> str:
        """Press a button; return the id of the press."""
        every = [one for row in shown.buttons_json for one in row["components"]]
        (id_,) = (one["custom_id"] for one in every if one["label"] == label)
        message = self.world.json(shown)
        data = {"component_type": 2, "custom_id": id_}
        return self._interact(self.place(shown.chat), user, 3, data, message=message)

    def command(self, chat: int, name: str, user: int, **options: str) -> str:
        """Choose a command of the menu; return the id of the interaction."""
        return self._command(self.place(chat), user, name, options)

    def command_elsewhere(self, name: str, user: int) -> Room:
        """Choose a command between two people, which is offered to who has installed the
        application for themselves; where that was."""
        with self.changed:
            room = Room(self.world.new_id(), GROUP_DM, is_closed=True)
            self.world.rooms[room.id] = room
        self._command(room, user, name, {}, context=2)
        return room

    def _command(
        self, room: Room, user: int, name: str, options: dict[str, str], **more: Any
    ) -> str:
        fields = [{"type": 3, "name": key, "value": value} for key, value in options.items()]
        data = {"name": name, "type": 1, "id": "1", "options": fields}
        return self._interact(room, user, 2, data, **more)

    def _interact(self, room: Room, user: int, kind: int, data: dict[str, Any], **more: Any) -> str:
        with self.changed:
            id_ = str(self.world.new_id())
            who: dict[str, Any] = {"user": self.world.user(user)}
            if room.guild is not None:
                who = {"member": who | {"roles": []}, "guild_id": str(room.guild)}
            made = {
                "id": id_,
                "application_id": str(BOT_ID),
                "type": kind,
                "token": f"token-of-{id_}",
                "version": 1,
                "channel_id": str(room.id),
                "channel": room.json,
                "data": data,
                **who,
                **more,
            }
            self.rest.interactions[id_] = (made["token"], time.monotonic(), room.id)
            self.gateway.tell("INTERACTION_CREATE", made)
            return id_

    # Misbehaviour

    def misbehave(self, kind: str, route: str = "", times: int | None = 1, **more: Any) -> None:
        """Make the next requests to a route fail, such as ``POST messages``."""
        with self.changed:
            self.faults.append(Fault(kind, route, times, **more))

    def behave(self) -> None:
        """Stop all faults."""
        with self.changed:
            self.faults.clear()
            self.gateway.is_deaf = self.gateway.refuse_sessions = False

    def _fault_for(self, route: str) -> Fault | None:
        for one in self.faults:
            if one.route in ("", route):
                if one.times is not None:
                    one.times -= 1
                    if not one.times:
                        self.faults.remove(one)
                return one
        return None

    # Requests

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = unquote(request.path)
        if path.startswith(("/upload/", "/attachments/")):
            return await self._blob(request, path)
        if not path.startswith("/api/v10/"):
            return web.Response(status=404, text="<html>")
        path = path.removeprefix("/api/v10")
        files, body = [], b""
        if request.content_type == "multipart/form-data":
            with contextlib.suppress(ValueError, ConnectionError):
                async for part in await request.multipart():
                    data = bytes(await part.read())  # type: ignore[union-attr]
                    if part.name == "payload_json":
                        body = data
                    else:
                        files.append((part.name or "", part.filename or "", data))  # type: ignore[union-attr]
        else:
            body = await request.read()
        call = Call(request.method, path, body.decode("utf-8", "replace"), 0, time.monotonic())
        with self.changed:
            fault = self._fault_for(call.route)
        kind = fault.kind if fault is not None else ""
        if kind in ("silent", "refuse"):
            self._note(call, 0)
            if kind == "silent":
                await self._over.wait()
            return self._hang_up(request)
        headers = {"Content-Type": "application/json"}
        with self.changed:
            try:
                if kind in ("500", "502"):
                    raise ApiError(int(kind), 0, "Server Error")
                if fault is not None and kind == "429":
                    raise self._limited(fault.seconds, fault.is_global)
                self._authorized(request, path)
                headers |= self._paced(call)
                result = self.rest.answer(
                    request.method, path, request.query, read_json(body), files
                )
                status, out = (204, b"") if result is None else (200, json.dumps(result).encode())
                headers |= {"Content-Type": "text/html"} if result is None else {}
                if kind == "502-done":
                    raise ApiError(502, 0, "Server Error")
            except ApiError as refused:
                status, out = refused.status, json.dumps(refused.body).encode()
                self.errors += status in (401, 403, 429)
                if status == 429:
                    headers["Via"] = "1.1 google"
                    if "retry_after" in refused.body:
                        headers["Retry-After"] = str(refused.body["retry_after"])
        if kind in ("drop", "hold"):
            self._note(call, 0)
            if kind == "hold":
                await self._over.wait()
            return self._hang_up(request)
        self._note(call, status)
        return web.Response(status=status, body=out, headers=headers)

    def _authorized(self, request: web.Request, path: str) -> None:
        if path.startswith(("/interactions/", "/webhooks/")):
            return
        if request.headers.get("Authorization") != f"Bot {self.gateway.token}":
            raise ApiError(401, 0, "401: Unauthorized")
        if not request.headers.get("User-Agent", "").startswith("DiscordBot ("):
            raise ApiError(403, 40333, "internal network error")
        wants = {"application/json", "multipart/form-data", "application/octet-stream"}
        if request.body_exists and request.content_type not in wants:
            raise ApiError(400, 50109, "The request body contains invalid JSON.")

    def _paced(self, call: Call) -> dict[str, str]:
        limit, window = self.flood
        if not limit or call.route not in ("POST messages", "PATCH messages"):
            return {}
        key, now = f"{call.method}{call.path.split('/')[2]}", time.monotonic()
        bucket = self._buckets.setdefault(key, Bucket(limit, window))
        if now < bucket.banned_until:
            self.violations += 1
            raise self._limited(bucket.banned_until - now, False)
        if now - bucket.begun >= bucket.window:
            bucket.begun, bucket.used = now, 0
        left = bucket.begun + bucket.window - now
        if bucket.used >= bucket.limit:
            bucket.banned_until = now + left
            raise self._limited(left, False)
        bucket.used += 1
        return {
            "X-RateLimit-Limit": str(bucket.limit),
            "X-RateLimit-Remaining": str(bucket.limit - bucket.used),
            "X-RateLimit-Reset": f"{time.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": call.method.lower() + "b",
        }

    @staticmethod
    def _limited(seconds: float, is_global: bool) -> ApiError:
        made = ApiError(429, 0, "You are being rate limited.")
        made.body |= {"retry_after": round(seconds, 3), "global": is_global}
        return made

    async def _blob(self, request: web.Request, path: str) -> web.StreamResponse:
        if request.method == "PUT":
            key, data = path.removeprefix("/upload/"), await request.read()
            with self.changed:
                fault = self._fault_for("PUT upload")
                if fault is not None or request.headers.get("Authorization"):
                    return web.Response(status=403)
                if key not in self.world.uploads:
                    return web.Response(status=404)
                self.world.uploads[key] = (self.world.uploads[key][0], data)
            return web.Response(status=200)
        with self.changed:
            found = self.world.blobs.get(f"http://127.0.0.1:{self._port}{request.path_qs}")
            fault = self._fault_for("GET attachments")
        if found is None or fault is not None or request.headers.get("Authorization"):
            return web.Response(status=404 if found is None else 403)
        return web.Response(body=found)

    def _note(self, call: Call, status: int) -> None:
        with self.changed:
            self.calls.append(Call(call.method, call.path, call.body, status, call.at))
            self.changed.notify_all()

    @staticmethod
    def _hang_up(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
