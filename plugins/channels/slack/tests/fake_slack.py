"""A fake Slack workspace on loopback, with the limits and faults of the real one.

:class:`Slack` is what people do and see: rooms, messages, presses, files. Its Web API is in
:mod:`.fake_methods`, what it sends over websockets in :mod:`.fake_socket`, what it refuses in
:mod:`.fake_rules`. Every message of anybody, the app's own too, comes as an event; each event goes
to a random one of the app's sockets.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .fake_rules import CHATS, GRANTED, PINGS, URLS, buttons_of, words_of

BOT_TOKEN = f"xoxb-{os.getpid()}-a-secret-that-must-not-be-seen"
APP_TOKEN = f"xapp-1-A{os.getpid()}-a-secret-that-must-not-be-seen"
"""Of this process: tests that run beside each other would find the bot of the others taken."""
BOT, BOT_ID, APP, TEAM = "U0BOT", "B0BOT", "A0HOOK", "T0TEAM"
PATIENCE = float(os.environ.get("SLACK_TEST_PATIENCE", "90"))
"""Seconds until a test gives up; none waits for it to pass."""


@dataclass(slots=True)
class Fault:
    """A fault that some requests meet.

    ``500``, ``502``, ``429`` and ``garbage`` answer so; ``silent`` does nothing and never answers;
    ``drop`` does what was asked and hangs up; ``hang up`` does nothing and hangs up. Another word
    is an ``error`` under 200, and nothing is done.
    """

    kind: str
    method: str = ""
    times: int | None = 1
    seconds: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its outcome, a status and an error; status 0 means no response."""

    method: str
    params: dict[str, Any]
    status: int
    error: str
    at: float


@dataclass(slots=True)
class Room:
    """A conversation; its messages, of threads too, in the order of their ``ts``."""

    id: str
    people: set[str]
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_member: bool = True
    is_archived: bool = False

    @property
    def kind(self) -> str:
        return CHATS[self.id[0]]


@dataclass(slots=True)
class Stream:
    """A message that grows by appending."""

    channel: str
    began: float
    is_open: bool = True


class Slack:
    """The workspace. ``paced`` switches the limits of rates on."""

    def __init__(self, *, paced: bool = False, bot: str = BOT_TOKEN, app: str = APP_TOKEN) -> None:
        from .fake_methods import Methods
        from .fake_socket import Sockets

        self.tokens = {bot: "bot", app: "app"}
        self.paced = paced
        self.granted: set[str] = set(GRANTED)
        self.is_agent = True
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.rooms: dict[str, Room] = {}
        self.people: dict[str, dict[str, Any]] = {}
        self.files: dict[str, dict[str, Any]] = {}
        self.whispers: list[tuple[str, str, str]] = []
        """What a person alone was shown: channel, person, words."""
        self.data: dict[str, bytes] = {}
        self.uploads: dict[str, str] = {}
        self.streams: dict[str, Stream] = {}
        self.status: dict[tuple[str, str], str] = {}
        self.reactions: dict[tuple[str, str], set[str]] = {}
        self.pings: list[str] = []
        self.fetched: list[str] = []
        """Addresses in messages that the service would have looked at for previews."""
        self.unedited = True
        self.violations = 0
        self.skew = 0.0
        self.upload_limit = 1_000_000_000
        self.share_seconds = 0.0
        self.never_shared = 0
        self.mentions_twice = ""
        """``before`` or ``after``: an ``app_mention`` comes besides the ``message``."""
        self.echoes = True
        self.is_strange = False
        """Events have undocumented fields."""
        self.repeats = 0.0
        """The part of events that come twice, at once."""
        self._changed = threading.Condition()
        self._last_ts = 0
        self.random = random.Random(17)
        self.methods = Methods(self)
        self.sockets = Sockets(self)
        self.port = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(PATIENCE)

    # Where it is

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/"

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        app = web.Application(client_max_size=64_000_000)
        app.router.add_route("*", "/api/{method}", self.methods.answer)
        app.router.add_post("/upload/{file}", self.methods.upload)
        app.router.add_post("/commands/{channel}/{user}", self.methods.respond)
        app.router.add_get("/files/{file}/{name}", self.methods.download)
        app.router.add_get("/link", self.sockets.serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

        async def begin() -> None:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
            ready.set()

        self.loop.run_until_complete(begin())
        self.loop.run_forever()
        self.loop.run_until_complete(self.sockets.close())
        self.loop.run_until_complete(runner.cleanup())
        self.loop.close()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def soon(self, work: Callable[..., Any], *args: Any) -> None:
        """Do something in the server's thread."""
        self.loop.call_soon_threadsafe(work, *args)

    # What a test asks

    def wait(self, until: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait until the condition holds; return its value."""
        with self._changed:
            met = self._changed.wait_for(until, patience)
            calls = [(c.method, c.status, c.error) for c in self.calls]
            assert met, (calls[-12:], [text[:60] for text in self.texts()[-8:]])
            return met

    def changed(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @property
    def lock(self) -> threading.Condition:
        return self._changed

    def messages(
        self, channel: str | None = None, thread: str | None = None
    ) -> list[dict[str, Any]]:
        """The app's current messages, in order; those of one thread, with ``thread``."""
        with self._changed:
            rooms = [r for r in self.rooms.values() if channel in (None, r.id)]
            found = [m for room in rooms for m in room.messages.values() if m.get("user") == BOT]
            return [m for m in found if thread in (None, m.get("thread_ts"))]

    def texts(self, channel: str | None = None, thread: str | None = None) -> list[str]:
        """What people read of the app's messages."""
        return [words_of(one) for one in self.messages(channel, thread)]

    def find(self, part: str, channel: str | None = None) -> dict[str, Any]:
        """Wait for the app's first message that contains a text."""

        def found() -> dict[str, Any] | None:
            return next((m for m in self.messages(channel) if part in words_of(m)), None)

        shown: dict[str, Any] = self.wait(found)
        return shown

    def count(self, method: str, error: str | None = None) -> int:
        """The number of requests so far."""
        return sum(c.method == method and error in (None, c.error) for c in list(self.calls))

    def settle(self) -> None:
        """Wait until all events were sent and acknowledged."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(PATIENCE)
        self.wait(lambda: not self.sockets.waiting)

    def misbehave(
        self, kind: str, method: str = "", times: int | None = 1, seconds: int = 1
    ) -> None:
        """Make requests fail from now on."""
        with self._changed:
            self.faults.append(Fault(kind, method, times, seconds))

    def now(self) -> float:
        """Seconds of a clock that :meth:`pass_time` moves."""
        return time.monotonic() + self.skew

    def pass_time(self, seconds: float) -> None:
        """Let time pass at once: what is due then happens."""
        self.skew += seconds
        self.soon(self.sockets.due)

    # What people do

    def next_ts(self) -> str:
        """A new ``ts``: unique, rising, by the wall clock."""
        with self._changed:
            self._last_ts = max(self._last_ts + 1, int(time.time() * 1e6))
            return f"{self._last_ts // 10**6}.{self._last_ts % 10**6:06}"

    def person(self, user: str, name: str = "Ann", *, is_bot: bool = False) -> None:
        """Somebody in the workspace."""
        profile = {"display_name": name, "real_name": f"{name} Real"}
        self.people[user] = {
            "id": user,
            "name": name.lower(),
            "is_bot": is_bot,
            "team_id": TEAM,
            "profile": profile,
        }

    def room(self, channel: str, *people: str, **more: Any) -> Room:
        """A conversation, made as it is needed."""
        with self._changed:
            if channel not in self.rooms:
                self.rooms[channel] = Room(channel, set(people) | {BOT})
            room = self.rooms[channel]
            for name in people:
                room.people.add(name)
                if name not in self.people:
                    self.person(name)
            for name, value in more.items():
                setattr(room, name, value)
            return room

    def say(
        self,
        channel: str,
        text: str,
        user: str = "U0ANN",
        thread: str | None = None,
        files: tuple[str, ...] = (),
        **more: Any,
    ) -> dict[str, Any]:
        """A person writes; return the message."""
        with self._changed:
            room = self.room(channel, user)
            message: dict[str, Any] = {"type": "message", "user": user, "text": text, "team": TEAM}
            message |= {
                "ts": self.next_ts(),
                "client_msg_id": f"c{self._last_ts}",
                "novel": {"x": 1},
            }
            if thread is not None:
                parent = room.messages.get(thread, {})
                message |= {"thread_ts": thread, "parent_user_id": parent.get("user", user)}
            if files:
                message |= {"subtype": "file_share", "upload": False}
                message["files"] = [self.files[one] for one in files]
            message |= more
            self.keep(room, message)
        self.tell(room, message)
        return message

    def keep(self, room: Room, message: dict[str, Any]) -> None:
        """Store a message in a room; a reply makes its parent the root of a thread."""
        with self._changed:
            room.messages[message["ts"]] = message
            root = message.get("thread_ts")
            if root is not None and root != message["ts"] and root in room.messages:
                parent = room.messages[root]
                count = parent.get("reply_count", 0) + 1
                parent |= {"thread_ts": root, "reply_count": count, "latest_reply": message["ts"]}
            self._changed.notify_all()

    def tell(self, room: Room, message: dict[str, Any]) -> None:
        """Send the event of a new message."""
        kind = {"channels": "channel", "groups": "group"}.get(room.kind, room.kind)
        event = {**message, "channel": room.id, "channel_type": kind, "event_ts": message["ts"]}
        if not room.is_member:
            return
        events = [event]
        if self.mentions_twice and f"<@{BOT}>" in message["text"]:
            mention = {k: v for k, v in event.items() if k not in ("channel_type", "subtype")}
            events.append(mention | {"type": "app_mention"})
            if self.mentions_twice == "before":
                events.reverse()
        for one in events:
            self.soon(self.sockets.event, one)

    def edit(self, channel: str, message: dict[str, Any], text: str) -> None:
        """Change one's message."""
        with self._changed:
            kept = self.rooms[channel].messages[message["ts"]]
            before = dict(kept)
            kept |= {"text": text, "edited": {"user": kept["user"], "ts": self.next_ts()}}
        self.tell_change(channel, kept, before)

    def unfurl(self, channel: str, message: dict[str, Any], *shared: dict[str, Any]) -> None:
        """Follow the links of a message, which Slack does a moment later."""
        with self._changed:
            kept = self.rooms[channel].messages[message["ts"]]
            before = dict(kept)
            kept["attachments"] = [{"is_msg_unfurl": True, **one} for one in shared]
        self.tell_change(channel, kept, before)

    def tell_change(self, channel: str, kept: dict[str, Any], before: dict[str, Any]) -> None:
        ts = self.next_ts()
        event = {
            "type": "message",
            "subtype": "message_changed",
            "hidden": True,
            "channel": channel,
            "ts": ts,
            "event_ts": ts,
            "message": dict(kept),
            "previous_message": before,
        }
        self.soon(self.sockets.event, event)

    def delete(self, channel: str, ts: str) -> None:
        """Delete a message."""
        with self._changed:
            gone = self.rooms[channel].messages.pop(ts)
        made = self.next_ts()
        event = {
            "type": "message",
            "subtype": "message_deleted",
            "hidden": True,
            "channel": channel,
            "ts": made,
            "event_ts": made,
            "deleted_ts": ts,
            "previous_message": gone,
        }
        self.soon(self.sockets.event, event)

    def react(
        self, channel: str, ts: str, emoji: str, user: str = "U0ANN", *, gone: bool = False
    ) -> None:
        """Add a reaction to a message, or remove it."""
        owner = self.rooms[channel].messages[ts].get("user")
        event = {
            "type": "reaction_removed" if gone else "reaction_added",
            "user": user,
            "reaction": emoji,
            "item_user": owner,
            "item": {"type": "message", "channel": channel, "ts": ts},
            "event_ts": self.next_ts(),
        }
        self.soon(self.sockets.event, event)

    def press(self, message: dict[str, Any], label: str, user: str = "U0ANN") -> None:
        """Press a button of a message of the app."""
        channel = next(r.id for r in self.rooms.values() if message["ts"] in r.messages)
        button = next(one for one in buttons_of(message) if one["text"]["text"] == label)
        block = next(b for b in message["blocks"] if button in b.get("elements", ()))
        self.room(channel, user)
        action = {**button, "block_id": block.get("block_id", "b1"), "action_ts": self.next_ts()}
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": "ann", "name": "ann", "team_id": TEAM},
            "api_app_id": APP,
            "team": {"id": TEAM, "domain": "team"},
            "container": {
                "type": "message",
                "message_ts": message["ts"],
                "channel_id": channel,
                "is_ephemeral": False,
            },
            "channel": {"id": channel, "name": "x"},
            "message": dict(message),
            "trigger_id": f"1.2.{self.next_ts()}",
            "response_url": "https://hooks.slack.invalid/actions/1",
            "actions": [action],
        }
        if "thread_ts" in message:
            payload["container"]["thread_ts"] = message["thread_ts"]  # type: ignore[index]
        self.soon(self.sockets.interaction, "interactive", payload)

    def command(self, channel: str, command: str, text: str = "", user: str = "U0ANN") -> None:
        """Type one of the app's slash commands; not in threads, where Slack has none."""
        self.room(channel, user)
        payload = {
            "command": command,
            "text": text,
            "channel_id": channel,
            "channel_name": "directmessage" if channel[0] == "D" else "general",
            "user_id": user,
            "user_name": "ann",
            "team_id": TEAM,
            "api_app_id": APP,
            "trigger_id": f"9.9.{self.next_ts()}",
            "response_url": self.api_url.replace("/api/", f"/commands/{channel}/{user}"),
        }
        self.soon(self.sockets.interaction, "slash_commands", payload)

    def stop(self, channel: str, thread: str, user: str = "U0ANN") -> None:
        """Press Slack's own Stop button."""
        event = {
            "type": "agent_session_stopped",
            "channel": channel,
            "thread_ts": thread,
            "user": user,
            "streaming_message_ts": [],
            "event_ts": self.next_ts(),
        }
        self.soon(self.sockets.event, event)

    def file(
        self, data: bytes, name: str, mime: str, *, size: int | None = None, **more: Any
    ) -> str:
        """A file of a person; its id. ``size`` is claimed instead of the real one."""
        with self._changed:
            id_ = f"F{len(self.files):06}"
            self.data[id_] = data
            url = f"http://127.0.0.1:{self.port}/files/{id_}/{name}"
            self.files[id_] = {
                "id": id_,
                "name": name,
                "title": name,
                "mimetype": mime,
                "filetype": name.rpartition(".")[2],
                "size": len(data) if size is None else size,
                "mode": "hosted",
                "url_private": url,
                "url_private_download": url,
                **more,
            }
            return id_

    def voice(self, data: bytes, seconds: float = 3.0) -> str:
        """A voice clip, as Slack's own recorder makes it."""
        return self.file(
            data,
            "audio_message.mp4",
            "audio/mp4",
            subtype="slack_audio",
            media_display_type="audio",
            duration_ms=int(seconds * 1000),
        )

    # What the service sees of a message

    def look(self, text: str, unfurl: bool) -> None:
        """Pings and previews in what the app wrote."""
        self.pings += PINGS.findall(text)
        if unfurl:
            self.fetched += URLS.findall(text)
