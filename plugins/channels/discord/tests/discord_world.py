"""What a fake Discord knows: people, servers, channels, threads and messages, and what it refuses.

Status, code and sentence of a refusal are those of Discord's documents
(discord.com/developers/docs/topics/opcodes-and-status-codes).
"""

from __future__ import annotations

import base64
import re
import time
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any

BOT_ID = 123456789012345678
APPLICATION = BOT_ID
MIB = 1 << 20
EPOCH = 1_420_070_400_000
"""Milliseconds at which Discord's ids begin (discord.com/developers/docs/reference#snowflakes)."""
DM, GROUP_DM, TEXT, PUBLIC_THREAD = 1, 3, 0, 11
SUPPRESS_EMBEDS, VOICE = 1 << 2, 1 << 13
PERMISSIONS = {
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "ATTACH_FILES": 1 << 15,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "ADD_REACTIONS": 1 << 6,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
    "CREATE_PUBLIC_THREADS": 1 << 35,
    "SEND_VOICE_MESSAGES": 1 << 46,
}
ALL = sum(PERMISSIONS.values())


def new_token() -> str:
    """A token that no other test has: a bot is one gateway's alone on a machine."""
    return f"MTIzNDU2Nzg5MDEyMzQ1Njc4.GhTest.{token_urlsafe(28)}"


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"message": message, "code": code, **more}


def invalid(where: str, code: str, message: str) -> ApiError:
    """Discord's response to an invalid form."""
    errors: Any = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(where.split(".")):
        errors = {part: errors}
    return ApiError(400, 50035, "Invalid Form Body", errors=errors)


def person(id_: int, name: str = "", *, bot: bool = False) -> dict[str, Any]:
    """A user."""
    shown = name or f"User {id_}"
    return {
        "id": str(id_),
        "username": shown.lower().replace(" ", "_"),
        "global_name": shown,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
    }


BOT = person(BOT_ID, "Hook", bot=True)


@dataclass(slots=True)
class Room:
    """A channel, a thread or a private chat."""

    id: int
    type: int
    guild: int | None = None
    recipient: int | None = None
    parent: int | None = None
    name: str = "general"
    last: int | None = None
    archived: bool = False
    locked: bool = False
    owner: int = 1
    is_closed: bool = False
    """The person takes no messages of bots."""
    denied: int = 0
    """Permissions that the bot does not have here."""
    messages: dict[int, ShownMessage] = field(default_factory=dict)

    @property
    def json(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "id": str(self.id),
            "type": self.type,
            "last_message_id": None if self.last is None else str(self.last),
        }
        if self.guild is not None:
            made |= {"guild_id": str(self.guild), "name": self.name}
        if self.parent is not None:
            made |= {"parent_id": str(self.parent), "owner_id": str(self.owner)}
            made["thread_metadata"] = {
                "archived": self.archived,
                "locked": self.locked,
                "auto_archive_duration": 1440,
                "archive_timestamp": stamp(time.time()),
            }
        if self.recipient is not None:
            made["recipients"] = [person(self.recipient)]
        return made


@dataclass(slots=True)
class ShownMessage:
    """A message as people see it now."""

    id: int
    chat: int
    author: dict[str, Any]
    text: str
    flags: int = 0
    buttons_json: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    reply_to: int | None = None
    nonce: str | None = None
    made: float = 0.0
    edited: float | None = None
    edits: list[float] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    reactions: dict[str, set[int]] = field(default_factory=dict)
    forwarded: str | None = None
    webhook: bool = False
    type: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    """Further fields, as of polls and stickers."""
    is_deleted: bool = False

    @property
    def is_mine(self) -> bool:
        return self.author["id"] == str(BOT_ID)

    @property
    def buttons(self) -> list[str]:
        """The labels."""
        return [one["label"] for row in self.buttons_json for one in row["components"]]


@dataclass(slots=True)
class Guild:
    """A server. ``permissions`` are the bot's."""

    id: int
    name: str = "Lab"
    rooms: list[int] = field(default_factory=list)
    permissions: int = ALL
    role: int = 0
    """The bot's own role."""


def stamp(at: float) -> str:
    """A time as Discord writes it."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    return f"{whole}.{int(at * 1e6) % 10**6:06d}+00:00"


class World:
    """Everything there is."""

    def __init__(self) -> None:
        self.rooms: dict[int, Room] = {}
        self.guilds: dict[int, Guild] = {}
        self.names: dict[int, str] = {}
        self.bots: set[int] = {BOT_ID}
        self.message_content = True
        """Whether the application's page allows the Message Content intent."""
        self.nonce_seconds = 300.0
        """How long a nonce is known."""
        self.fetched: list[str] = []
        """Addresses that were asked for, to show previews of them."""
        self.pings: list[str] = []
        """Texts of the bot that have pinged, or could have pinged, a person."""
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.voice_filled = 0
        self._last_id = 0

    def new_id(self) -> int:
        """A snowflake, larger than all before."""
        made = (int(time.time() * 1000) - EPOCH) << 22
        self._last_id = max(made, self._last_id + 1)
        return self._last_id

    def user(self, id_: int) -> dict[str, Any]:
        """A user by id."""
        if id_ == BOT_ID:
            return BOT
        return person(id_, self.names.get(id_, ""), bot=id_ in self.bots)

    # Places

    def dm_of(self, user: int) -> Room:
        """The private chat with a person, made as it is needed."""
        for room in self.rooms.values():
            if room.recipient == user:
                return room
        room = Room(self.new_id(), DM, recipient=user)
        self.rooms[room.id] = room
        return room

    def add_guild(self, name: str = "Lab") -> Guild:
        guild = Guild(self.new_id(), name, role=self.new_id())
        self.guilds[guild.id] = guild
        return guild

    def add_room(self, guild: int, name: str = "general", parent: int | None = None) -> Room:
        kind = TEXT if parent is None else PUBLIC_THREAD
        room = Room(self.new_id(), kind, guild=guild, parent=parent, name=name)
        self.rooms[room.id] = room
        self.guilds[guild].rooms.append(room.id)
        return room

    def room_for(self, id_: str, permission: str = "VIEW_CHANNEL") -> Room:
        """A channel that the bot may use so. Raises :class:`ApiError`."""
        room = self.rooms.get(int(id_) if id_.isdigit() else -1)
        if room is None:
            raise ApiError(404, 10003, "Unknown Channel")
        if room.guild is not None:
            if room.guild not in self.guilds:
                raise ApiError(403, 50001, "Missing Access")
            has = self.guilds[room.guild].permissions & ~room.denied
            if not has & PERMISSIONS["VIEW_CHANNEL"]:
                raise ApiError(403, 50001, "Missing Access")
            if not has & PERMISSIONS[permission]:
                raise ApiError(403, 50013, "Missing Permissions")
        elif room.is_closed and permission != "VIEW_CHANNEL":
            raise ApiError(403, 50007, "Cannot send messages to this user")
        return room

    def message_in(self, room: Room, id_: str) -> ShownMessage:
        """An existing message. Raises :class:`ApiError`."""
        shown = room.messages.get(int(id_) if id_.isdigit() else -1)
        if shown is None or shown.is_deleted:
            raise ApiError(404, 10008, "Unknown Message")
        return shown

    # Messages

    def add(self, room: Room, author: int, text: str, **more: Any) -> ShownMessage:
        shown = ShownMessage(
            self.new_id(), room.id, self.user(author), text, made=time.time(), **more
        )
        room.messages[shown.id] = shown
        room.last = shown.id
        return shown

    def json(self, shown: ShownMessage, *, content: bool = True) -> dict[str, Any]:
        """A message as Discord sends it; without its ``content`` where the intent is missing."""
        room = self.rooms[shown.chat]
        mentioned = [int(one) for one in re.findall(r"<@!?(\d+)>", shown.text)]
        answered = room.messages.get(shown.reply_to or -1)
        if answered is not None and int(answered.author["id"]) not in mentioned:
            mentioned.append(int(answered.author["id"]))
        may_read = content or room.guild is None or shown.is_mine or BOT_ID in mentioned
        nonce = {"nonce": shown.nonce} if shown.nonce and self.knows_nonce(shown) else {}
        made: dict[str, Any] = {
            "id": str(shown.id),
            "channel_id": str(shown.chat),
            "type": 19 if shown.reply_to else shown.type,
            "author": shown.author,
            "content": shown.text if may_read else "",
            "timestamp": stamp(shown.made),
            "edited_timestamp": None if shown.edited is None else stamp(shown.edited),
            "tts": False,
            "mention_everyone": False,
            "mentions": [self.user(one) for one in mentioned],
            "mention_roles": re.findall(r"<@&(\d+)>", shown.text),
            "attachments": shown.files if may_read else [],
            "embeds": [],
            "components": shown.buttons_json if may_read else [],
            "pinned": False,
            "flags": shown.flags,
            "reactions": [
                {"emoji": {"id": None, "name": one}, "count": len(who), "me": BOT_ID in who}
                for one, who in shown.reactions.items()
                if who
            ],
            "a_field_of_tomorrow": {"x": [1]},
            **nonce,
        }
        if shown.webhook:
            made["webhook_id"] = str(self.new_id())
        if shown.reply_to is not None:
            made["message_reference"] = {
                "type": 0,
                "message_id": str(shown.reply_to),
                "channel_id": str(shown.chat),
            }
            referenced = None if answered is None or answered.is_deleted else self.json(answered)
            made["referenced_message"] = referenced
        if shown.forwarded is not None:
            made["message_reference"] = {"type": 1, "message_id": "1", "channel_id": "2"}
            inner = {"content": shown.forwarded, "attachments": [], "type": 0, "embeds": []}
            made["message_snapshots"] = [{"message": inner | shown.more.get("snapshot", {})}]
        return made | {name: value for name, value in shown.more.items() if name != "snapshot"}

    def knows_nonce(self, shown: ShownMessage) -> bool:
        return time.time() - shown.made < self.nonce_seconds

    # What the bot writes

    def check_text(self, payload: dict[str, Any]) -> str:
        text = payload.get("content") or ""
        if not isinstance(text, str):
            raise invalid("content", "STRING_TYPE_CONVERT", "Could not interpret as string.")
        if len(text) > 2000:
            raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
        return text

    def check_buttons(self, payload: dict[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = payload.get("components") or []
        if len(rows) > 5:
            raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
        seen: set[str] = set()
        for row in rows:
            if row.get("type") != 1 or not 1 <= len(row["components"]) <= 5:
                raise invalid("components.0", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
            for one in row["components"]:
                label, id_ = one.get("label", ""), one.get("custom_id", "")
                if one.get("type") != 2 or not 1 <= len(label) <= 80 or not 1 <= len(id_) <= 100:
                    raise invalid("components.0.label", "BASE_TYPE_BAD_LENGTH", "Bad length.")
                if id_ in seen:
                    raise invalid("components.0", "COMPONENT_CUSTOM_ID_DUPLICATED", "Duplicated.")
                seen.add(id_)
        return rows

    def check_pings(self, payload: dict[str, Any], text: str, is_edit: bool) -> None:
        """Note what pings, or would if the text had a mention in it."""
        allowed = payload.get("allowed_mentions")
        if allowed is None or allowed.get("parse") != [] or allowed.get("replied_user"):
            self.pings.append(text)
        if not payload.get("flags", 0) & SUPPRESS_EMBEDS and not (
            is_edit and "flags" not in payload
        ):
            found = re.search(r"https?://[^\s<>)]+", text)
            if found is not None:
                self.fetched.append(found[0])

    def check_voice(self, payload: dict[str, Any], files: list[dict[str, Any]]) -> None:
        if payload.get("content") or payload.get("components") or payload.get("embeds"):
            raise ApiError(400, 50159, "Voice messages do not support additional content")
        if len(files) != 1:
            raise ApiError(400, 50160, "Voice messages must have a single audio attachment")
        (one,) = files
        if not one.get("duration_secs") or "waveform" not in one:
            raise ApiError(400, 50161, "Voice messages must have supporting metadata")
        if len(base64.b64decode(one["waveform"], validate=True)) > 256:
            raise ApiError(400, 50161, "Voice messages must have supporting metadata")
        data = self.blobs[one["url"]]
        if not (data.startswith(b"OggS") and b"OpusHead" in data[:200]):
            raise ApiError(400, 50160, "Voice messages must have a single audio attachment")
        self.voice_filled += 1
