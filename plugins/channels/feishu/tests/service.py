"""What the fake keeps, and its endpoints: messages, files, reactions, chats and cards, each request
refused where the service refuses it."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from .contents import EDITS, MB, ApiError, Card, Message, check, check_card, parsed
from .long_connection import Clock, LongConnections

APP = "cli_a1b2c3d4e5f60000"
SECRET = "s3cr3t-of-the-app-that-nobody-may-see"
BOT = "ou_bot00000000000000000000000000bot"
SCOPES = frozenset({
    "im:message", "im:message:send_as_bot", "im:message.group_at_msg:readonly",
    "im:message.p2p_msg:readonly", "im:message.group_msg", "im:resource", "im:chat:readonly",
    "cardkit:card:write", "im:message.reactions:write_only",
})  # fmt: skip
HOUR = 3600.0
CARD_OPEN = 600.0
"""Seconds that a card may stay in streaming mode."""


@dataclass(slots=True)
class Room:
    """A chat. ``people`` are open ids."""

    id: str
    type: str = "p2p"
    name: str = ""
    people: set[str] = field(default_factory=set)
    has_bot: bool = True
    recent: deque[float] = field(default_factory=deque)


class Service:
    """``per_chat`` and ``overall`` are messages a second, 0 without limit."""

    def __init__(
        self, *, per_chat: int = 5, overall: int = 50, app: str = APP, secret: str = SECRET
    ) -> None:
        self.app, self.secret = app, secret
        self.clock = Clock()
        self.pushes = LongConnections(self.clock)
        self.scopes = set(SCOPES)
        self.per_chat, self.overall = per_chat, overall
        self.rooms: dict[str, Room] = {}
        self.messages: dict[str, Message] = {}
        self.cards: dict[str, Card] = {}
        self.files: dict[str, tuple[str, str, bytes, int]] = {}
        """By key: kind, name, bytes, duration in ms."""
        self.merged: dict[str, list[Message]] = {}
        """What merged conversations hold, by their message."""
        self.floods = 0
        self.refuse_md = False
        """No post with ``md`` and no card is taken."""
        self._sent: dict[str, tuple[float, str]] = {}
        self._recent: deque[float] = deque()
        self._last_time = 0

    def now_ms(self) -> int:
        """Milliseconds, never the same twice."""
        self._last_time = max(int(self.clock.now() * 1000), self._last_time + 1)
        return self._last_time

    def needs(self, scopes: tuple[str, ...]) -> None:
        """Refuse without one of the scopes."""
        if scopes and not self.scopes & set(scopes):
            named = ", ".join(scopes)
            violations = [{"type": "action_scope_required", "subject": one} for one in scopes]
            raise ApiError(
                99991672,
                f"Access denied. One of the following scopes is required: [{named}].",
                error={"permission_violations": violations},
            )

    # Messages

    def _flooded(self, room: Room) -> None:
        now = self.clock.now()
        for recent, most in ((room.recent, self.per_chat), (self._recent, self.overall)):
            while recent and recent[0] <= now - 1:
                recent.popleft()
            if most and len(recent) >= most:
                self.floods += 1
                if recent is room.recent and room.type == "group":
                    raise ApiError(230020, "This operation triggers the frequency limit.")
                raise ApiError(99991400, "request trigger frequency limit", 429, headers={
                    "x-ogw-ratelimit-limit": str(most), "x-ogw-ratelimit-reset": "1"})  # fmt: skip
        room.recent.append(now)
        self._recent.append(now)

    def add(self, message: Message) -> Message:
        self.messages[message.id] = message
        return message

    def _send(self, room: Room, body: Any, size: int, parent: Message | None = None) -> Any:
        uuid = body.get("uuid")
        if uuid is not None and not (isinstance(uuid, str) and 0 < len(uuid) <= 50):
            raise ApiError(230001, "Your request contains an invalid request parameter: uuid")
        known = self._sent.get(uuid or "")
        if known is not None and self.clock.now() - known[0] < HOUR:
            return {"data": self.messages[known[1]].item()}
        if not room.has_bot:
            raise ApiError(230002, "The bot can not be outside the group.")
        kind = str(body.get("msg_type"))
        content = check(kind, body.get("content"), size)
        self._takes(kind, content)
        card = ""
        if kind == "interactive" and content.get("type") == "card":
            card = content["data"]["card_id"]
            self._card(card).bound += 1
        if kind in ("image", "file", "audio", "media"):
            self._has_file(kind, content)
        self._flooded(room)
        made = Message(f"om_{uuid4().hex}", room.id, self.app, kind, body["content"],
                       self.now_ms(), is_app=True, card=card, sent_body=size)  # fmt: skip
        if parent is not None:
            made.parent, made.root = parent.id, parent.root or parent.id
            if parent.thread or body.get("reply_in_thread"):
                parent.thread = parent.thread or f"omt_{uuid4().hex[:16]}"
                made.thread = parent.thread
        self.add(made)
        if uuid:
            self._sent[uuid] = (self.clock.now(), made.id)
        return {"data": made.item()}

    def _takes(self, kind: str, content: dict[str, Any]) -> None:
        has_md = kind == "post" and any(
            part["tag"] == "md" for one in content.values() for line in one["content"]
            for part in line)  # fmt: skip
        if self.refuse_md and (has_md or kind == "interactive"):
            raise ApiError(230001, "Your request contains an invalid request parameter: content")

    def _has_file(self, kind: str, content: dict[str, Any]) -> None:
        key = content["image_key" if kind == "image" else "file_key"]
        found = self.files.get(key)
        if found is None:
            raise ApiError(230001, "invalid key")
        if kind != "image" and (kind == "audio") != (found[0] == "opus"):
            raise ApiError(230055, "The type of the file does not match the message type.")

    def create(self, query: dict[str, str], body: Any, size: int) -> Any:
        kind, to = query.get("receive_id_type"), str(body.get("receive_id"))
        if kind not in ("chat_id", "open_id"):
            raise ApiError(230001, "receive_id_type is missing or not used here")
        if kind == "open_id":  # the chat with a person begins with the first message
            theirs = (o for o in self.rooms.values() if o.people == {to} and o.type == "p2p")
            begun = Room(f"oc_begun_{to}", people={to})
            room = next(theirs, None) or self.rooms.setdefault(begun.id, begun)
        else:
            room = self.rooms.get(to)
        if room is None:
            raise ApiError(230001, "invalid receive_id")
        return self._send(room, body, size)

    def reply(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        parent = self._message(id_)
        return self._send(self.rooms[parent.chat], body, size, parent)

    def _message(self, id_: str) -> Message:
        found = self.messages.get(id_)
        if found is None:
            raise ApiError(230001, "invalid message_id")
        if found.is_deleted:
            raise ApiError(230011, "The message was withdrawn.")
        return found

    def _own(self, id_: str) -> Message:
        found = self._message(id_)
        if not found.is_app:
            raise ApiError(230001, "the message is not the bot's")
        return found

    def change(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        message = self._own(id_)
        if message.type not in ("text", "post") or body.get("msg_type") != message.type:
            raise ApiError(230054, "This operation is not supported for this message type.")
        if message.edits >= EDITS:
            raise ApiError(230072, "The message has reached the number of times it can be edited.")
        self._takes(message.type, check(message.type, body.get("content"), size))
        self._changed(message, body["content"])
        message.edits += 1
        return {"data": message.item()}

    def patch(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        message = self._own(id_)
        if message.type != "interactive" or message.card:
            raise ApiError(230001, "NOT a card")
        check("interactive", body.get("content"), size)
        self._changed(message, body["content"])
        return {"data": {}}

    def _changed(self, message: Message, content: str) -> None:
        message.history.append(message.content)
        message.content, message.updated = content, self.now_ms()

    def delete(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        self._own(id_).is_deleted = True
        return {"data": {}}

    def get(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        found = self.messages.get(id_)
        if found is None:
            raise ApiError(230001, "invalid message_id")
        inner = [
            self._shown(one, query) | {"upper_message_id": id_} for one in self.merged.get(id_, [])
        ]
        return {"data": {"items": [self._shown(found, query), *inner]}}

    def _shown(self, message: Message, query: dict[str, str]) -> dict[str, Any]:
        """A message as it is read: a card of the app as it was sent only if one asks for that."""
        item = message.item()
        if message.type != "interactive" or not message.is_app or message.is_deleted:
            return item
        body = self.cards[message.card].body if message.card else message.body
        if query.get("card_msg_content_type") != "user_card_content":
            sorry = {"tag": "text", "text": "请升级至最新版本客户端，以查看内容"}
            body = {"title": None, "elements": [[sorry]]}
        return {**item, "body": {"content": json.dumps(body, ensure_ascii=False)}}

    def listed(self, query: dict[str, str], body: Any, size: int) -> Any:
        kind, container = query.get("container_id_type"), query.get("container_id", "")
        count = int(query.get("page_size", "20"))
        if not 1 <= count <= 50:
            raise ApiError(230001, "page_size is out of range")
        if kind == "thread":
            if "start_time" in query or "end_time" in query:
                raise ApiError(230001, "a thread cannot be searched by time")
            found = [one for one in self.messages.values() if one.thread == container]
            if not found:
                raise ApiError(230001, "invalid thread")
            room = self.rooms[found[0].chat]
        elif kind == "chat" and container in self.rooms:
            room = self.rooms[container]
            start, end = (int(query.get(one, "0")) for one in ("start_time", "end_time"))
            found = [
                one for one in self.messages.values()
                if one.chat == container and (not one.thread or not one.root)
                and one.created // 1000 >= start and (not end or one.created // 1000 <= end)
            ]  # fmt: skip
        else:
            raise ApiError(230001, "container_id is invalid")
        if not room.has_bot:
            raise ApiError(230002, "The bot can not be outside the group.")
        if room.type == "group":
            self.needs(("im:message.group_msg",))
        found.sort(key=lambda one: one.created, reverse=query.get("sort_type", "").endswith("Desc"))
        at = int(query.get("page_token") or "0")
        page = found[at : at + count]
        has_more = at + count < len(found)
        data = {"items": [self._shown(one, query) for one in page], "has_more": has_more}
        return {"data": data | ({"page_token": str(at + count)} if has_more else {})}

    # Files, reactions, chats

    def resource(self, id_: str, key: str, query: dict[str, str], body: Any, size: int) -> Any:
        message, found = self._message(id_), self.files.get(key)
        if found is None or key not in message.content:
            raise ApiError(234003, "File not in msg.")
        if query.get("type") != ("image" if found[0] == "image" else "file"):
            raise ApiError(234001, "Invalid request param: type")
        return found[2]

    def picture(self, query: dict[str, str], body: Any, size: int) -> Any:
        data, name = body.get("image", (b"", ""))
        if body.get("image_type") != "message":
            raise ApiError(234001, "Invalid request param.")
        self._sized(data, 10 * MB)
        if not data.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")):
            raise ApiError(234011, "Can't recognize image format.")
        return {"data": {"image_key": self.keep("image", name, data, 0)}}

    def upload(self, query: dict[str, str], body: Any, size: int) -> Any:
        data, _ = body.get("file", (b"", ""))
        kind, name = body.get("file_type"), body.get("file_name")
        if kind not in ("opus", "mp4", "pdf", "doc", "xls", "ppt", "stream") or not name:
            raise ApiError(234001, "Invalid request param.")
        self._sized(data, 30 * MB)
        duration = str(body.get("duration", ""))
        if kind == "opus" and not (duration.isdigit() and int(duration) > 0):
            raise ApiError(234001, "Invalid request param: duration")
        if kind == "opus" and not data.startswith(b"OggS"):
            raise ApiError(234042, "The file is no opus.")
        return {"data": {"file_key": self.keep(kind, name, data, int(duration or 0))}}

    @staticmethod
    def _sized(data: bytes, most: int) -> None:
        if not data:
            raise ApiError(234010, "File's size can't be 0.")
        if len(data) > most:
            raise ApiError(234006, "The file size exceed the max value.")

    def keep(self, kind: str, name: str, data: bytes, duration: int) -> str:
        key = f"{'img' if kind == 'image' else 'file'}_v3_{uuid4().hex}"
        self.files[key] = (kind, name, data, duration)
        return key

    def react(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        emoji = body["reaction_type"]["emoji_type"]
        if not re.fullmatch(r"[A-Za-z0-9_]{1,40}", emoji):
            raise ApiError(231001, "reaction type is invalid.")
        made = uuid4().hex
        self._message(id_).reactions[made] = (emoji, self.app)
        return {"data": {"reaction_id": made, "reaction_type": {"emoji_type": emoji}}}

    def unreact(self, id_: str, reaction: str, query: dict[str, str], body: Any, size: int) -> Any:
        if self._message(id_).reactions.pop(reaction, None) is None:
            raise ApiError(231003, "the reaction is not there")
        return {"data": {}}

    def chats(self, query: dict[str, str], body: Any, size: int) -> Any:
        groups = [one for one in self.rooms.values() if one.type == "group" and one.has_bot]
        items = [{"chat_id": one.id, "name": one.name, "chat_status": "normal"} for one in groups]
        at, count = int(query.get("page_token") or "0"), int(query.get("page_size", "20"))
        has_more = at + count < len(items)
        data = {"items": items[at : at + count], "has_more": has_more}
        return {"data": data | {"page_token": str(at + count) if has_more else ""}}

    def chat(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        room = self.rooms.get(id_)
        if room is None:
            raise ApiError(232006, "The chat id is invalid.")
        return {"data": {"chat_mode": room.type, "name": room.name}}

    def bot(self, query: dict[str, str], body: Any, size: int) -> Any:
        return {"bot": {"activate_status": 2, "app_name": "Hook", "open_id": BOT}}

    def granted(self, query: dict[str, str], body: Any, size: int) -> Any:
        return {"data": {"scopes": [
            {"scope_name": one, "grant_status": 1 if one in self.scopes else 2}
            for one in sorted(SCOPES | self.scopes)]}}  # fmt: skip

    # Cards

    def _card(self, id_: str) -> Card:
        found = self.cards.get(id_)
        if found is None:
            raise ApiError(300305, "card id not found")
        if found.is_streaming and self.clock.now() - found.opened > CARD_OPEN:
            found.is_streaming = False
        return found

    def _rises(self, card: Card, body: Any) -> None:
        sequence = body.get("sequence")
        if not isinstance(sequence, int) or sequence <= card.sequence:
            raise ApiError(300317, "ErrMsg: sequence number compare failed")
        uuid = body.get("uuid")
        if uuid is not None and not 0 < len(uuid) <= 64:
            raise ApiError(99992402, "field validation failed: uuid")
        card.sequence = sequence

    def card_create(self, query: dict[str, str], body: Any, size: int) -> Any:
        if body.get("type") != "card_json":
            raise ApiError(99992402, "field validation failed: type")
        card = parsed(body.get("data"), "data")
        check_card(card)
        self._takes("interactive", card)
        made = Card(str(7_000_000_000_000_000_000 + len(self.cards)), card, self.clock.now())
        made.is_streaming = bool(card.get("config", {}).get("streaming_mode"))
        self.cards[made.id] = made
        return {"data": {"card_id": made.id}}

    def card_update(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        card = self._card(id_)
        made = parsed(body["card"]["data"], "data")
        check_card(made)
        self._rises(card, body)
        card.is_streaming = bool(made.get("config", {}).get("streaming_mode"))
        card.body = made
        return {"data": {}}

    def card_content(self, id_: str, element: str, query: dict[str, str], body: Any, size: int
                      ) -> Any:  # fmt: skip
        card = self._card(id_)
        if not card.is_streaming:
            code = 200850 if self.clock.now() - card.opened > CARD_OPEN else 300309
            raise ApiError(code, "ErrMsg: streaming mode is closed;")
        now = self.clock.now()
        if len([at for at, _ in card.contents if at > now - 1]) >= 10:
            self.floods += 1
            raise ApiError(99991400, "request trigger frequency limit", 429,
                          headers={"x-ogw-ratelimit-reset": "1"})  # fmt: skip
        one = card.element(element)
        old, one["content"] = one["content"], body["content"]
        try:
            check_card(card.body)
            self._rises(card, body)
        except ApiError:
            one["content"] = old
            raise
        card.contents.append((now, body["content"]))
        return {"data": {}}

    def card_settings(self, id_: str, query: dict[str, str], body: Any, size: int) -> Any:
        card = self._card(id_)
        settings = parsed(body.get("settings"), "settings").get("config", {})
        self._rises(card, body)
        if "streaming_mode" in settings:
            card.is_streaming = bool(settings["streaming_mode"])
            card.opened = self.clock.now() if card.is_streaming else card.opened
            card.closed += not card.is_streaming
        return {"data": {}}
