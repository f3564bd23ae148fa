"""A fake Bot API server on loopback, with the limits and faults of the real one.

What it keeps: updates stay until a higher offset confirms them; one poller at a time (409 for the
older); floods are answered with 429 and a wait; texts are measured in UTF-16 units and parsed; only
what differs can be edited; buttons hold 64 bytes; presses must be answered soon; files have sizes.
People are played by :meth:`BotApi.say` and its kin; :class:`Fault` makes it misbehave.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

from .telegram_text import CannotParse, parse, units

TOKEN = "4242:AAH-a_secret_that_must_not_be_seen_anywhere"
BOT = {
    "id": 4242,
    "is_bot": True,
    "first_name": "Hook",
    "username": "hookline_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": False,
    "supports_inline_queries": False,
}
PATIENCE = float(os.environ.get("TELEGRAM_TEST_PATIENCE", "90"))
"""Seconds until a test gives up; none waits for it to pass."""
MB = 1_000_000
ACTIONS = {"typing", "upload_photo", "record_voice", "upload_voice", "upload_document"}


class ApiError(Exception):
    """An error response."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.body: dict[str, Any] = {
            "ok": False,
            "error_code": code,
            "description": description,
        } | ({"parameters": parameters} if parameters else {})


@dataclass(slots=True)
class Fault:
    """A fault that some requests meet.

    ``502``, ``500``, ``429`` and ``garbage`` answer so; ``silent`` never answers and does nothing;
    ``drop`` does what was asked and hangs up; ``refuse`` hangs up and does nothing.
    """

    kind: str
    method: str = ""
    times: int | None = 1
    seconds: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its outcome; ``status`` 0 means no response."""

    method: str
    params: dict[str, Any]
    status: int
    at: float


@dataclass(slots=True)
class ShownMessage:
    """A message of the bot, as people see it now."""

    chat: int
    id: int
    kind: str
    text: str
    source: str
    entities: tuple[tuple[str, int, int], ...] = ()
    markup: dict[str, Any] = field(default_factory=dict)
    thread: int | None = None
    reply_to: int | None = None
    data: bytes = b""
    name: str = ""
    mime: str = ""
    duration: int | None = None
    edits: list[float] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    is_deleted: bool = False

    @property
    def buttons(self) -> list[str]:
        """The labels."""
        return [one["text"] for row in self.markup.get("inline_keyboard", []) for one in row]


@dataclass(slots=True)
class Flood:
    """``rate`` messages a second after ``burst`` at once; 0 is no limit."""

    rate: float = 1.0
    burst: int = 5
    left: float = -1.0
    at: float = 0.0

    def take(self, now: float) -> float:
        """Seconds to wait; 0 if it may pass."""
        if not self.rate:
            return 0.0
        if self.left < 0:
            self.left, self.at = float(self.burst), now
        self.left = min(float(self.burst), self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / self.rate
        self.left -= 1
        return 0.0


@dataclass(slots=True)
class Room:
    """A chat."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    topics: set[int] = field(default_factory=set)
    is_blocked: bool = False
    moved_to: int | None = None
    last_id: int = 0
    known: set[int] = field(default_factory=set)
    flood: Flood = field(default_factory=Flood)
    banned_until: float = 0.0

    @property
    def json(self) -> dict[str, Any]:
        named = {"first_name": "P"} if self.type == "private" else {"title": self.title or "Group"}
        return {"id": self.id, "type": self.type, **named} | (
            {"is_forum": True} if self.is_forum else {}
        )


def person(user: int, name: str = "Ann", *, is_bot: bool = False) -> dict[str, Any]:
    """A user."""
    return {"id": user, "is_bot": is_bot, "first_name": name, "username": f"user{user}"}


def entities_of(text: str) -> list[dict[str, Any]]:
    """Commands and mentions, as the service finds them."""
    found = []
    for pattern, type_ in (
        (r"(?:(?<=\s)|^)/[A-Za-z0-9_]{1,64}(?:@\w+)?", "bot_command"),
        (r"(?:(?<=\W)|^)@\w{3,32}", "mention"),
    ):
        for match in re.finditer(pattern, text):
            before = units(text[: match.start()])
            found.append({"type": type_, "offset": before, "length": units(match[0])})
    return found


class BotApi:
    """The server. ``flood`` is the limit of a new chat: messages a second, and at once."""

    def __init__(self, token: str = TOKEN, flood: tuple[float, int] = (0.0, 5)) -> None:
        self.token = token
        self.flood = flood
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.shown: list[ShownMessage] = []
        self.commands: list[dict[str, str]] = []
        self.fetched: list[str] = []
        """Addresses that the service has asked for, to show previews of them."""
        self.presses: dict[str, float] = {}
        """Presses that wait for their answer, and when they were made."""
        self.answered: dict[str, str] = {}
        self.press_seconds = 15.0
        self.webhook = ""
        self.rival = False
        """Another poller that always wins."""
        self.upload_limit, self.download_limit = 50 * MB, 20 * MB
        self.refuse_markup: set[int] = set()
        """Chats in which no formatted text is taken, whatever it is."""
        self.refuse_photos = False
        self.violations = 0
        """Requests to a chat during its rate limit."""
        self._updates: list[dict[str, Any]] = []
        self._next_update = 1000
        self._rooms: dict[int, Room] = {}
        self._files: dict[str, tuple[str, bytes, int]] = {}
        self._poller = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    # Where it is

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/bot"

    @property
    def base_file_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/file/bot"

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    # What a test asks

    def wait(self, until: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait until the condition holds; return its value."""
        with self._changed:
            met = self._changed.wait_for(until, patience)
            calls = [(c.method, c.status) for c in self.calls if c.method != "getUpdates"]
            assert met, (calls[-12:], [text[:60] for text in self.texts()[-8:]])
            return met

    def texts(self, chat: int | None = None) -> list[str]:
        """The bot's current texts and captions, oldest first."""
        return [one.text for one in self.messages(chat)]

    def messages(self, chat: int | None = None) -> list[ShownMessage]:
        """The bot's current messages."""
        return [o for o in self.shown if not o.is_deleted and chat in (None, o.chat)]

    def find(self, part: str, chat: int | None = None) -> ShownMessage:
        """Wait for the bot's first message that contains a text."""

        def found() -> ShownMessage | None:
            return next((one for one in self.messages(chat) if part in one.text), None)

        shown: ShownMessage = self.wait(found)
        return shown

    def count(self, method: str, status: int | None = None) -> int:
        """The number of requests so far."""
        return Counter(
            (call.method, call.status if status is not None else None) for call in self.calls
        )[method, status]

    @property
    def unconfirmed(self) -> list[int]:
        """Updates that no offset has confirmed."""
        return [update["update_id"] for update in self._updates]

    # What people do

    def room(self, chat: int, **more: Any) -> Room:
        """A chat, made as it is needed: of a group below 0."""
        with self._changed:
            if chat not in self._rooms:
                kind = "private" if chat > 0 else "supergroup" if chat < -(10**12) else "group"
                rate, burst = self.flood
                self._rooms[chat] = Room(chat, kind, flood=Flood(rate, burst))
            for name, value in more.items():
                setattr(self._rooms[chat], name, value)
            return self._rooms[chat]

    def deliver(self, kind: str, content: dict[str, Any]) -> int:
        """Queue an update; its id."""
        with self._changed:
            self._next_update += 1
            self._updates.append({"update_id": self._next_update, kind: content})
            self._changed.notify_all()
            return self._next_update

    def message(
        self,
        chat: int,
        user: int | None = None,
        *,
        reply_to: int | None = None,
        thread: int | None = None,
        sender: dict[str, Any] | None = None,
        **content: Any,
    ) -> dict[str, Any]:
        """A message of a person, not queued."""
        with self._changed:
            room = self.room(chat)
            room.last_id += 1
            room.known.add(room.last_id)
            made: dict[str, Any] = {
                "message_id": room.last_id,
                "from": sender or person(user if user is not None else abs(chat)),
                "chat": room.json,
                "date": int(time.time()),
                **content,
            }
            if thread is not None:
                room.topics.add(thread)
                made |= {"message_thread_id": thread, "is_topic_message": True}
            if reply_to is not None:
                mine = self._shown(chat, reply_to)
                made["reply_to_message"] = {
                    "message_id": reply_to,
                    "from": BOT if mine is not None else person(1),
                    "chat": room.json,
                    "date": int(time.time()),
                    "text": mine.text if mine is not None else "…",
                }
            return made

    def say(self, chat: int, text: str, user: int | None = None, **more: Any) -> dict[str, Any]:
        """A person writes; return the message."""
        made = self.message(chat, user, text=text, **more)
        if found := entities_of(text):
            made["entities"] = found
        self.deliver("message", made)
        return made

    def edit(self, message: dict[str, Any], text: str) -> None:
        """Edit a person's message."""
        edited = {**message, "text": text, "edit_date": int(time.time()) + 1}
        self.deliver("edited_message", edited)

    def send(
        self,
        chat: int,
        kind: str,
        data: bytes,
        user: int | None = None,
        *,
        caption: str | None = None,
        size: int | None = None,
        queue: bool = True,
        group: str | None = None,
        name: str | None = None,
        mime: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Send a photo, voice, audio or document; ``size`` is claimed instead of the real one."""
        file_id = f"{kind}-{len(self._files) + 1}"
        path = f"{kind}s/file_{len(self._files) + 1}"
        self._files[file_id] = (path, data, size if size is not None else len(data))
        about: dict[str, Any] = {
            "file_id": file_id,
            "file_unique_id": f"u-{file_id}",
            "file_size": self._files[file_id][2],
        }
        content: Any
        if kind == "photo":
            small = f"{file_id}-small"
            self._files[small] = (f"{path}-small", b"small", 5)
            thumb = {**about, "file_id": small, "file_unique_id": f"u-{small}", "file_size": 5}
            content = [thumb | {"width": 90, "height": 60}, about | {"width": 900, "height": 600}]
        elif kind in ("voice", "audio"):
            about["mime_type"] = mime or ("audio/ogg" if kind == "voice" else "audio/mpeg")
            content = about | {"duration": 1} | ({"file_name": name} if name else {})
        else:
            content = about | {"file_name": name or "notes.txt", "mime_type": mime or "text/plain"}
        extra: dict[str, Any] = {"caption": caption} if caption is not None else {}
        if caption and (found := entities_of(caption)):
            extra["caption_entities"] = found
        if group is not None:
            extra["media_group_id"] = group
        made = self.message(chat, user, **{kind: content}, **extra, **more)
        if queue:
            self.deliver("message", made)
        return made

    def press(self, shown: ShownMessage, label: str, user: int) -> str:
        """Press a button; return the id of the press."""
        with self._changed:
            button = next(
                one
                for row in shown.markup["inline_keyboard"]
                for one in row
                if one["text"] == label
            )
            press = str(10**17 + len(self.presses) + len(self.answered))
            self.presses[press] = time.monotonic()
            self.deliver(
                "callback_query",
                {
                    "id": press,
                    "from": person(user),
                    "chat_instance": "1",
                    "data": button["callback_data"],
                    "message": self._json(shown),
                },
            )
            return press

    def migrate(self, old: int, new: int) -> None:
        """A group becomes a supergroup."""
        with self._changed:
            service = self.message(old, 1, migrate_to_chat_id=new)
            self.room(old).moved_to = new
            self.deliver("message", service)
            self.deliver("message", self.message(new, 1, migrate_from_chat_id=old))

    # What the bot asks

    def _shown(self, chat: int, message_id: int) -> ShownMessage | None:
        return next(
            (o for o in self.shown if (o.chat, o.id) == (chat, message_id) and not o.is_deleted),
            None,
        )

    def _json(self, shown: ShownMessage) -> dict[str, Any]:
        made: dict[str, Any] = {
            "message_id": shown.id,
            "from": BOT,
            "chat": self.room(shown.chat).json,
            "date": int(time.time()),
        }
        made["text" if shown.kind == "text" else "caption"] = shown.text
        if shown.markup:
            made["reply_markup"] = shown.markup
        if shown.thread is not None:
            made |= {"message_thread_id": shown.thread, "is_topic_message": True}
        return made

    def handle(self, token: str, method: str, params: dict[str, Any], files: Any) -> Any:
        """The result of a request. Raises :class:`ApiError`."""
        if token != self.token:
            # A token of the right form that is not known is 401, anything else 404.
            if re.fullmatch(r"\d+:[\w-]{20,}", token):
                raise ApiError(401, "Unauthorized")
            raise ApiError(404, "Not Found")
        wanted = getattr(self, f"_do_{method.casefold()}", None)
        if wanted is None:
            raise ApiError(404, "Not Found: method not found")
        with self._changed:
            try:
                return wanted(params, files)
            finally:
                self._changed.notify_all()

    def _do_getme(self, _params: dict[str, Any], _files: Any) -> Any:
        return BOT

    def _do_deletewebhook(self, _params: dict[str, Any], _files: Any) -> Any:
        self.webhook = ""
        return True

    def _do_getupdates(self, params: dict[str, Any], _files: Any) -> Any:
        if self.webhook:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook "
                "to delete the webhook first",
            )
        self._poller += 1
        mine = self._poller
        self._changed.notify_all()
        offset = int(params.get("offset") or 0)
        if offset > 0:
            self._updates = [one for one in self._updates if one["update_id"] >= offset]
        limit = int(params.get("limit") or 100)
        allowed = json.loads(params.get("allowed_updates") or "[]")
        if not isinstance(allowed, list):
            raise ApiError(400, "Bad Request: can't parse allowed updates")
        until = time.monotonic() + float(params.get("timeout") or 0)
        while True:
            if self._poller != mine or self.rival:
                raise ApiError(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one "
                    "bot instance is running",
                )
            left = until - time.monotonic()
            if self._updates or left <= 0 or self._is_closed:
                return self._updates[:limit]
            self._changed.wait(left)

    def _do_sendmessage(self, params: dict[str, Any], _files: Any) -> Any:
        room = self._room_for(params)
        if params.get("parse_mode") and room.id in self.refuse_markup:
            raise ApiError(400, "Bad Request: can't parse entities: unsupported start tag")
        text, entities = self._text(params, "text")
        self._preview(params)
        return self._post(room, params, "text", text, entities, params["text"])

    def _preview(self, params: dict[str, Any]) -> None:
        """Fetch the first address of a text, as the service does unless that is switched off."""
        options = json.loads(params.get("link_preview_options") or "{}")
        found = re.search(r"https?://[^\s\"<>)]+", params["text"])
        if found is not None and not options.get("is_disabled"):
            self.fetched.append(found[0])

    def _do_editmessagetext(self, params: dict[str, Any], _files: Any) -> Any:
        room = self._room_for(params, topic=False)
        shown = self._shown(room.id, int(params.get("message_id") or 0))
        if shown is None or shown.kind != "text":
            raise ApiError(400, "Bad Request: message to edit not found")
        text, entities = self._text(params, "text")
        markup = self._markup(params)
        if (text, entities, markup) == (shown.text, shown.entities, shown.markup):
            raise ApiError(
                400,
                "Bad Request: message is not modified: specified new message content and reply "
                "markup are exactly the same as a current content and reply markup of the message",
            )
        self._preview(params)
        shown.history.append(shown.text)
        shown.text, shown.entities, shown.markup = text, entities, markup
        shown.source = params["text"]
        shown.edits.append(time.monotonic())
        return self._json(shown)

    def _do_editmessagereplymarkup(self, params: dict[str, Any], _files: Any) -> Any:
        room = self._room_for(params, topic=False)
        shown = self._shown(room.id, int(params.get("message_id") or 0))
        if shown is None:
            raise ApiError(400, "Bad Request: message to edit not found")
        markup = self._markup(params)
        if markup == shown.markup:
            raise ApiError(400, "Bad Request: message is not modified")
        shown.markup = markup
        return self._json(shown)

    def _do_deletemessage(self, params: dict[str, Any], _files: Any) -> Any:
        room = self._room_for(params, topic=False)
        shown = self._shown(room.id, int(params.get("message_id") or 0))
        if shown is None:
            raise ApiError(400, "Bad Request: message to delete not found")
        shown.is_deleted = True
        return True

    def _do_sendchataction(self, params: dict[str, Any], _files: Any) -> Any:
        self._room_for(params, counted=False)
        if params.get("action") not in ACTIONS:
            raise ApiError(400, "Bad Request: wrong parameter action in request")
        return True

    def _do_answercallbackquery(self, params: dict[str, Any], _files: Any) -> Any:
        press = str(params.get("callback_query_id"))
        made = self.presses.pop(press, None)
        if made is None or time.monotonic() - made > self.press_seconds:
            raise ApiError(
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            )
        if len(params.get("text") or "") > 200:
            raise ApiError(400, "Bad Request: MESSAGE_TOO_LONG")
        self.answered[press] = params.get("text") or ""
        return True

    def _do_setmycommands(self, params: dict[str, Any], _files: Any) -> Any:
        commands = json.loads(params.get("commands") or "[]")
        if len(commands) > 100:
            raise ApiError(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
        for one in commands:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", one["command"]):
                raise ApiError(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(one["description"]) <= 256:
                raise ApiError(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        self.commands = commands
        return True

    def _do_getfile(self, params: dict[str, Any], _files: Any) -> Any:
        found = self._files.get(params.get("file_id") or "")
        if found is None:
            raise ApiError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        path, _, size = found
        if size > self.download_limit:
            raise ApiError(400, "Bad Request: file is too big")
        id_ = params["file_id"]
        about = {"file_id": id_, "file_unique_id": f"u-{id_}", "file_size": size}
        return about | {"file_path": path}

    def file(self, token: str, path: str) -> bytes:
        """The bytes at a file path. Raises :class:`ApiError`."""
        found = [data for where, data, _ in self._files.values() if where == path]
        if token != self.token or not found:
            raise ApiError(404, "Not Found")
        return found[0]

    def _do_sendvoice(self, params: dict[str, Any], files: Any) -> Any:
        return self._send_file("voice", params, files)

    def _do_sendphoto(self, params: dict[str, Any], files: Any) -> Any:
        return self._send_file("photo", params, files)

    def _do_senddocument(self, params: dict[str, Any], files: Any) -> Any:
        return self._send_file("document", params, files)

    def _do_sendaudio(self, params: dict[str, Any], files: Any) -> Any:
        return self._send_file("audio", params, files)

    # What is the same for all

    def _send_file(self, kind: str, params: dict[str, Any], files: Any) -> Any:
        room = self._room_for(params)
        if kind not in files:
            raise ApiError(400, f"Bad Request: there is no {kind} in the request")
        name, mime, data = files[kind]
        if not data:
            raise ApiError(400, "Bad Request: file must be non-empty")
        if len(data) > (10 * MB if kind == "photo" else self.upload_limit):
            raise ApiError(413, "Request Entity Too Large")
        looks = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")
        if kind == "photo" and (self.refuse_photos or not data.startswith(looks)):
            raise ApiError(400, "Bad Request: IMAGE_PROCESS_FAILED")
        if kind == "voice" and not (data.startswith(b"OggS") and b"OpusHead" in data[:200]):
            raise ApiError(400, "Bad Request: VOICE_FORMAT_INVALID")
        text, entities = self._text(params, "caption", longest=1024)
        shown = self._post(room, params, kind, text, entities, params.get("caption") or "")
        made = self.shown[-1]
        made.data, made.name, made.mime = data, name, mime
        duration = params.get("duration")
        made.duration = int(duration) if duration is not None else None
        size = {"file_id": f"sent-{made.id}", "file_unique_id": "s", "file_size": len(data)}
        if kind == "photo":
            return shown | {"photo": [size | {"width": 1, "height": 1}]}
        return shown | {kind: size | {"duration": made.duration or 0}}

    def _post(
        self,
        room: Room,
        params: dict[str, Any],
        kind: str,
        text: str,
        entities: tuple[tuple[str, int, int], ...],
        source: str,
    ) -> dict[str, Any]:
        thread = int(params["message_thread_id"]) if params.get("message_thread_id") else None
        reply = json.loads(params.get("reply_parameters") or "{}")
        reply_to = reply.get("message_id")
        if reply_to is not None and reply_to not in room.known:
            if not reply.get("allow_sending_without_reply"):
                raise ApiError(400, "Bad Request: message to be replied not found")
            reply_to = None
        markup = self._markup(params)
        room.last_id += 1
        room.known.add(room.last_id)
        made = ShownMessage(
            room.id, room.last_id, kind, text, source, entities, markup, thread, reply_to
        )
        self.shown.append(made)
        return self._json(made)

    def _room_for(
        self, params: dict[str, Any], *, topic: bool = True, counted: bool = True
    ) -> Room:
        try:
            chat = int(params.get("chat_id") or "")
        except ValueError:
            raise ApiError(400, "Bad Request: chat_id is empty") from None
        room = self._rooms.get(chat)
        if room is None:
            raise ApiError(400, "Bad Request: chat not found")
        if room.moved_to is not None:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=room.moved_to,
            )
        if room.is_blocked:
            if room.type == "private":
                raise ApiError(403, "Forbidden: bot was blocked by the user")
            raise ApiError(403, "Forbidden: bot was kicked from the group chat")
        thread = params.get("message_thread_id")
        if topic and thread and int(thread) not in room.topics:
            raise ApiError(400, "Bad Request: message thread not found")
        if counted:
            self._flooded(room)
        return room

    def _flooded(self, room: Room) -> None:
        now = time.monotonic()
        if now < room.banned_until:
            self.violations += 1
            wait = room.banned_until - now
        else:
            wait = room.flood.take(now)
        if wait:
            seconds = math.ceil(wait)
            room.banned_until = now + seconds
            raise ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)

    def _text(
        self, params: dict[str, Any], name: str, longest: int = 4096
    ) -> tuple[str, tuple[tuple[str, int, int], ...]]:
        try:
            parsed = parse(params.get(name) or "", params.get("parse_mode"))
        except CannotParse as error:
            raise ApiError(400, f"Bad Request: {error}") from None
        text = parsed.text.rstrip()
        if name == "text" and not text.strip():
            raise ApiError(400, "Bad Request: message text is empty")
        if units(text) > longest:
            what = "message" if name == "text" else "message caption"
            raise ApiError(400, f"Bad Request: {what} is too long")
        return text, parsed.entities

    def _markup(self, params: dict[str, Any]) -> dict[str, Any]:
        markup: dict[str, Any] = json.loads(params.get("reply_markup") or "{}")
        for one in [one for row in markup.get("inline_keyboard", []) for one in row]:
            if not one.get("text", "").strip():
                raise ApiError(
                    400, "Bad Request: text buttons are not allowed in the inline keyboard"
                )
            if not 1 <= len(one.get("callback_data", "").encode()) <= 64:
                raise ApiError(400, "Bad Request: BUTTON_DATA_INVALID")
        return markup if markup.get("inline_keyboard") else {}

    # Misbehaviour

    def misbehave(
        self, kind: str, method: str = "", times: int | None = 1, seconds: int = 1
    ) -> None:
        """Make the next requests fail; ``times=None``: until :meth:`behave`."""
        with self._changed:
            self.faults.append(Fault(kind, method, times, seconds))

    def behave(self) -> None:
        """Stop all faults; requests that were left waiting stay so."""
        with self._changed:
            self.faults.clear()
            self.rival = False
            self._changed.notify_all()

    def fault_for(self, method: str) -> Fault | None:
        """The fault for this request."""
        with self._changed:
            for one in self.faults:
                if one.method.casefold() not in ("", method.casefold()):
                    continue
                if one.times is not None:
                    one.times -= 1
                    if not one.times:
                        self.faults.remove(one)
                return one
            return None

    def log(self, method: str, params: dict[str, Any], status: int) -> None:
        """Note a request."""
        with self._changed:
            self.calls.append(Call(method, params, status, time.monotonic()))
            self._changed.notify_all()

    def hold(self) -> None:
        """Return when the server closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that died."""


def _handler(api: BotApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def log_message(self, *_: object) -> None:
            pass

        def _serve(self) -> None:
            path = unquote(self.path.partition("?")[0])
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if path.startswith("/file/bot"):
                token, _, where = path.removeprefix("/file/bot").partition("/")
                self._answer("file", {"path": where}, lambda: api.file(token, where))
                return
            token, _, method = path.removeprefix("/bot").partition("/")
            method = method[:1].lower() + method[1:]  # names are case-insensitive
            kind = self.headers.get("Content-Type", "")
            params, files = read_form(body, kind, self.path)
            self._answer(method, params, lambda: api.handle(token, method, params, files))

        def _answer(self, method: str, params: dict[str, Any], work: Callable[[], Any]) -> None:
            fault = api.fault_for(method)
            kind = fault.kind if fault is not None else ""
            if kind in ("silent", "refuse"):
                api.log(method, params, 0)
                if kind == "silent":
                    api.hold()
                self._hang_up()
                return
            if kind in ("502", "500"):
                self._write(method, params, int(kind), b"<html><h1>Bad Gateway</h1></html>")
                return
            if kind == "garbage":
                self._write(method, params, 200, b"{nothing")
                return
            try:
                if fault is not None and kind == "429":
                    message = f"Too Many Requests: retry after {fault.seconds}"
                    raise ApiError(429, message, retry_after=fault.seconds)
                result = work()
            except ApiError as refused:
                status, out = refused.code, json.dumps(refused.body).encode()
            else:
                is_file = isinstance(result, bytes)
                status = 200
                out = result if is_file else json.dumps({"ok": True, "result": result}).encode()
            if kind == "drop":
                api.log(method, params, 0)
                self._hang_up()
                return
            self._write(method, params, status, out)

        def _write(self, method: str, params: dict[str, Any], status: int, out: bytes) -> None:
            api.log(method, params, status)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        def _hang_up(self) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    return Handler


def read_form(body: bytes, kind: str, url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and files ``{field: (name, mime, bytes)}`` of a request."""
    params = {name: values[-1] for name, values in parse_qs(url.partition("?")[2]).items()}
    files: dict[str, Any] = {}
    if kind.startswith("application/json"):
        given = json.loads(body)
        return params | {
            k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items()
        }, {}
    if kind.startswith("multipart/form-data"):
        for name, filename, mime, data in _parts(body, kind):
            if filename is None:
                params[name] = data.decode()
            else:
                files[name] = (filename, mime, data)
        # attach://field stands for a file that is sent under another name
        for name, value in list(params.items()):
            if isinstance(value, str) and value.startswith("attach://"):
                files[name] = files[value.removeprefix("attach://")]
        return params, files
    for name, values in parse_qs(body.decode(), keep_blank_values=True).items():
        params[name] = values[-1]
    return params, files


def _parts(body: bytes, kind: str) -> Iterable[tuple[str, str | None, str, bytes]]:
    """Name, file name, type and bytes of each part of a multipart body (RFC 7578)."""
    boundary = b"\r\n--" + kind.partition("boundary=")[2].strip('"').encode()
    for part in (b"\r\n" + body).split(boundary)[1:-1]:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = head.decode()
        name = re.search(r'\bname="([^"]*)"', headers)
        filename = re.search(r'filename="([^"]*)"', headers)
        mime = re.search(r"(?i)content-type:\s*(\S+)", headers)
        assert name is not None, headers
        yield (
            name[1],
            unquote(filename[1]) if filename else None,
            mime[1] if mime else "application/octet-stream",
            data,
        )
