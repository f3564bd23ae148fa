"""A Feishu on loopback: its REST API, its long connection, and the people who write on it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from .contents import Message, buttons_of, words_of
from .long_connection import Push
from .open_api import OpenApi
from .service import BOT, Room

PATIENCE = float(os.environ.get("FEISHU_TEST_PATIENCE", "90"))
"""Seconds until a test gives up; none waits for it to pass."""


class Feishu(OpenApi):
    """The service. ``is_away`` stops the push of events, as without a connection."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.is_away = False

    # Chats

    def room(self, person: str) -> str:
        """The private chat of a person with the bot; its id."""
        id_ = f"oc_{person.removeprefix('ou_')}"
        self.rooms.setdefault(id_, Room(id_, people={person}))
        return id_

    def group(self, name: str, *people: str) -> str:
        """A group with the bot; its id."""
        made = Room(f"oc_{uuid4().hex}", "group", name, set(people))
        self.rooms[made.id] = made
        return made.id

    # What people do

    def say(
        self,
        chat: str,
        text: str,
        user: str = "",
        *,
        at: Sequence[tuple[str, str]] = (),
        parent: Message | None = None,
        in_thread: bool = False,
        is_app: bool = False,
    ) -> Message:
        """Write. ``at`` are names and open ids that stand as ``@_user_1``, ``@_user_2`` in it."""
        mentions = [
            {"key": f"@_user_{n}", "id": {"open_id": open_id, "union_id": f"on_{n}",
             "user_id": ""}, "name": name, "tenant_key": "t1"}
            for n, (name, open_id) in enumerate(at, 1)
        ]  # fmt: skip
        content = json.dumps({"text": text}, ensure_ascii=False)
        return self.write(chat, "text", content, user, mentions=mentions, parent=parent,
                          in_thread=in_thread, is_app=is_app)  # fmt: skip

    def send(
        self, chat: str, kind: str, data: bytes, user: str = "", *, name: str = "", ms: int = 0
    ) -> Message:
        """Send an ``image``, a ``file``, an ``audio`` or a ``media`` (video)."""
        stored = {"image": "image", "audio": "opus", "media": "mp4"}.get(kind, "stream")
        key = self.keep(stored, name, data, ms)
        content: dict[str, Any] = {"file_key": key}
        if kind == "image":
            content = {"image_key": key}
        elif kind == "audio":
            content |= {"duration": ms}
        else:
            content |= {"file_name": name}
        return self.write(chat, kind, json.dumps(content), user)

    def write(
        self,
        chat: str,
        kind: str,
        content: str,
        user: str = "",
        *,
        mentions: Sequence[dict[str, Any]] = (),
        parent: Message | None = None,
        in_thread: bool = False,
        is_app: bool = False,
        id_: str = "",
    ) -> Message:
        """A message of a person (or of another bot), stored and pushed."""
        with self.lock:
            user = user or next(iter(self.rooms[chat].people))
            made = Message(id_ or f"om_{uuid4().hex}", chat, user, kind, content, self.now_ms(),
                           is_app=is_app, mentions=list(mentions))  # fmt: skip
            if parent is not None:
                made.parent, made.root = parent.id, parent.root or parent.id
                if in_thread or parent.thread:
                    parent.thread = parent.thread or f"omt_{uuid4().hex[:16]}"
                    made.thread = parent.thread
            self.add(made)
        self.tell(made)
        return made

    def tell(self, message: Message, kind: str = "im.message.receive_v1") -> Push | None:
        """Push a message as an event, if the app may have it."""
        room = self.rooms[message.chat]
        addressed = any(one["id"]["open_id"] == BOT for one in message.mentions)
        if room.type == "group" and not addressed and "im:message.group_msg" not in self.scopes:
            return None
        payload = {
            "message_id": message.id, "chat_id": message.chat, "chat_type": room.type,
            "message_type": message.type, "content": message.content,
            "create_time": str(message.created),
            "update_time": str(message.updated or message.created),
            "user_agent": "Mozilla/5.0 Feishu", "an_unknown_field": {"new": [1, 2]},
        }  # fmt: skip
        for key, value in (("root_id", message.root), ("parent_id", message.parent),
                           ("thread_id", message.thread)):  # fmt: skip
            if value:
                payload[key] = value
        if message.mentions:
            payload["mentions"] = message.mentions
        sender = {"sender_id": person(message.sender), "tenant_key": "t1",
                  "sender_type": "app" if message.is_app else "user"}  # fmt: skip
        return self.event(kind, {"sender": sender, "message": payload})

    def event(
        self, kind: str, event: dict[str, Any], frame: str = "event", *, once: bool = False
    ) -> Push | None:
        """Push any event."""
        if self.is_away:
            return None
        event_id = uuid4().hex
        header = {"event_id": event_id, "token": "", "create_time": str(self.now_ms()),
                  "event_type": kind, "tenant_key": "t1", "app_id": self.app}  # fmt: skip
        body = {"schema": "2.0", "header": header, "event": event}
        return self.pushes.push(event_id, body, frame, once=once)

    def edit(self, message: Message, text: str) -> None:
        """Change a text as its writer; subscribers get an event."""
        with self.lock:
            message.content = json.dumps({"text": text}, ensure_ascii=False)
            message.updated = self.now_ms()
        self.tell(message, "im.message.updated_v1")

    def recall(self, message: Message) -> None:
        """The writer recalls a message."""
        message.is_deleted = True
        payload = {"message_id": message.id, "chat_id": message.chat,
                "recall_time": str(self.now_ms()), "recall_type": "message_owner"}  # fmt: skip
        self.event("im.message.recalled_v1", payload)

    def react(self, message: Message, emoji: str, user: str, *, off: bool = False) -> None:
        """A person adds a reaction to a message, or removes it."""
        kind = f"im.message.reaction.{'deleted' if off else 'created'}_v1"
        payload = {"message_id": message.id, "reaction_type": {"emoji_type": emoji},
                "operator_type": "user", "user_id": person(user),
                "action_time": str(self.now_ms())}  # fmt: skip
        self.event(kind, payload)

    def press(self, message: Message, label: str, user: str, *, frame: str = "event") -> Push:
        """Press a button; the push holds what was answered. ``frame`` is ``event`` or ``card``."""
        value = next(value for shown, value in buttons_of(message, self.cards) if shown == label)
        event = {
            "operator": {**person(user), "tenant_key": "t1"}, "token": f"c-{uuid4().hex}",
            "action": {"value": value, "tag": "button"}, "host": "im_message",
            "context": {"open_message_id": message.id, "open_chat_id": message.chat},
        }  # fmt: skip
        made = self.event("card.action.trigger", event, frame, once=True)
        assert made is not None
        return made

    # What people see

    def shown(self, chat: str) -> list[Message]:
        """What the bot has written in a chat, in order."""
        with self.lock:
            made = [one for one in self.messages.values() if one.chat == chat and one.is_app]
            return [one for one in made if one.sender == self.app and not one.is_deleted]

    def texts(self, chat: str) -> list[str]:
        """The words of it."""
        with self.lock:
            return [words_of(one, self.cards) for one in self.shown(chat)]

    def find(self, text: str, chat: str) -> Message:
        """Wait for the bot's message that contains the text."""

        def found() -> Message | None:
            with self.lock:
                shown = self.shown(chat)
                return next((one for one in shown if text in words_of(one, self.cards)), None)

        return self.wait(found, lambda: f"no {text!r} in {self.texts(chat)}")

    def buttons(self, message: Message) -> list[str]:
        """The labels of a message's buttons."""
        with self.lock:
            return [label for label, _ in buttons_of(message, self.cards)]

    def wait(self, until: Callable[[], Any], what: Callable[[], str] | None = None) -> Any:
        """Return when this is true, what it gave."""
        deadline = time.monotonic() + PATIENCE
        while not (made := until()):
            assert time.monotonic() < deadline, what() if what else self.pushes.broken
            time.sleep(0.02)
        return made


def person(open_id: str) -> dict[str, str]:
    """The ids of a person."""
    return {"open_id": open_id, "union_id": f"on_{open_id[3:]}", "user_id": ""}
