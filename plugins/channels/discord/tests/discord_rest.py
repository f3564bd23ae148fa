"""The REST half of a fake Discord: each method answers one route, or raises what it refuses."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .discord_world import (
    APPLICATION,
    BOT,
    BOT_ID,
    MIB,
    VOICE,
    ApiError,
    Room,
    ShownMessage,
    World,
    invalid,
)

Json = dict[str, Any]
Files = list[tuple[str, str, bytes]]
"""Name of the field, file name, content."""
CONTENT_LIMITED = 1 << 19
"""The Message Content intent in an application's flags, below a hundred servers."""


class Tells(Protocol):
    """Where events go."""

    def tell(self, event: str, data: Json, room: Room | None = None) -> None:
        """Dispatch an event."""


class Rest:
    """Answers requests."""

    def __init__(self, world: World, tells: Tells) -> None:
        self.world, self._tells = world, tells
        self.base = ""
        self.commands: list[Json] = []
        self.commands_put = 0
        self.typed: list[int] = []
        self.identifies_left, self.identifies_reset = 1000, 86_400_000
        self.interactions: dict[str, tuple[str, float, int]] = {}
        """Token, when it was made, and the message's chat, by the interaction's id."""
        self.answered: dict[str, Json] = {}
        self.followups: list[tuple[str, Json]] = []
        self.interaction_seconds = 3.0
        self.old_seconds, self.old_wait = 3600.0, 1200.0
        self.upload_limit = 10 * MIB
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = []
        for method, path, work in (
            ("GET", "/users/@me", self._me),
            ("GET", "/users/@me/guilds", self._guilds),
            ("POST", "/users/@me/channels", self._open_dm),
            ("GET", "/applications/@me", self._application),
            ("GET", "/oauth2/applications/@me", self._application),
            ("PUT", "/applications/{}/commands", self._set_commands),
            ("GET", "/gateway/bot", self._gateway),
            ("GET", "/channels/{}", lambda room: self.world.room_for(room).json),
            ("PATCH", "/channels/{}", self._change_room),
            ("POST", "/channels/{}/messages", self._post),
            ("GET", "/channels/{}/messages", self._history),
            ("GET", "/channels/{}/messages/{}", self._message),
            ("PATCH", "/channels/{}/messages/{}", self._edit),
            ("DELETE", "/channels/{}/messages/{}", self._delete),
            ("PUT", "/channels/{}/messages/{}/reactions/{}/@me", self._react),
            ("DELETE", "/channels/{}/messages/{}/reactions/{}/@me", self._unreact),
            ("POST", "/channels/{}/messages/{}/threads", self._thread),
            ("POST", "/channels/{}/typing", self._typing),
            ("POST", "/channels/{}/attachments", self._upload),
            ("GET", "/channels/{}/threads/archived/public", self._archived),
            ("POST", "/interactions/{}/{}/callback", self._callback),
            ("POST", "/webhooks/{}/{}", self._followup),
        ):
            pattern = re.compile("".join(r"([^/]+)" if p == "{}" else re.escape(p)
                                         for p in re.split(r"(\{\})", path)))  # fmt: skip
            self._routes.append((method, pattern, work))

    def answer(
        self, method: str, path: str, query: Mapping[str, str], body: Json, files: Files
    ) -> Any:
        """The JSON of an answer, None for 204. Raises :class:`ApiError`."""
        for wanted, pattern, work in self._routes:
            found = pattern.fullmatch(path)
            if wanted == method and found is not None:
                more: Json = {}
                names = work.__code__.co_varnames[: work.__code__.co_argcount]
                for name, value in (("query", query), ("body", body), ("files", files)):
                    if name in names:
                        more[name] = value
                return work(*found.groups(), **more)
        raise ApiError(404, 0, "404: Not Found")

    # Who and where

    def _me(self) -> Json:
        return BOT

    def _guilds(self) -> list[Json]:
        return [
            {"id": str(one.id), "name": one.name, "permissions": str(one.permissions)}
            for one in self.world.guilds.values()
        ]

    def _application(self) -> Json:
        flags = CONTENT_LIMITED if self.world.message_content else 0
        named = {"id": str(APPLICATION), "name": "Hook", "icon": None, "description": ""}
        keys = {"verify_key": "0", "bot_public": True, "bot_require_code_grant": False}
        owner = self.world.user(1)
        return {**named, **keys, "flags": flags, "bot": BOT, "owner": owner, "rpc_origins": []}

    def _gateway(self) -> Json:
        left, reset = self.identifies_left, self.identifies_reset
        limit = {"total": 1000, "remaining": left, "reset_after": reset}
        return {
            "url": self.base.replace("http", "ws").replace("/api/v10", "/gateway"),
            "shards": 1,
            "session_start_limit": limit | {"max_concurrency": 1},
        }

    def _open_dm(self, body: Json) -> Json:
        user = str(body.get("recipient_id", ""))
        if not user.isdigit() or int(user) in self.world.rooms or int(user) == BOT_ID:
            raise ApiError(400, 50033, "Invalid Recipient(s)")
        return self.world.dm_of(int(user)).json

    def _change_room(self, id_: str, body: Json) -> Json:
        room = self.world.room_for(id_, "SEND_MESSAGES_IN_THREADS")
        if room.locked:
            raise ApiError(403, 50013, "Missing Permissions")
        room.archived = bool(body.get("archived", room.archived))
        return room.json

    def _set_commands(self, _application: str, body: Any) -> list[Json]:
        if len(body) > 100:
            raise ApiError(400, 30032, "Maximum number of application commands reached (100).")
        for one in body:
            if not re.fullmatch(r"[-_\w]{1,32}", one["name"]) or one["name"] != one["name"].lower():
                raise invalid(
                    "0.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"
                )
            if not 1 <= len(one["description"]) <= 100:
                raise invalid("0.description", "BASE_TYPE_BAD_LENGTH", "Must be 1 to 100.")
        self.commands_put += 1
        self.commands = list(body)
        return self.commands

    # Messages

    def _post(self, id_: str, body: Json, files: Files) -> Json:
        world = self.world
        room = world.room_for(id_)
        thread = room.parent is not None
        room = world.room_for(id_, "SEND_MESSAGES_IN_THREADS" if thread else "SEND_MESSAGES")
        if room.locked:
            raise ApiError(400, 160005, "Thread is locked")
        if room.archived:
            raise ApiError(400, 50083, "Thread is archived")
        nonce = body.get("nonce")
        if nonce is not None and (not isinstance(nonce, str | int) or len(str(nonce)) > 25):
            raise invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
        for one in room.messages.values() if nonce and body.get("enforce_nonce") else ():
            if one.nonce == nonce and one.is_mine and world.knows_nonce(one):
                return world.json(one)
        text, buttons = world.check_text(body), world.check_buttons(body)
        sent = self._files_of(room, body, files)
        if not text.strip() and not sent:
            raise ApiError(400, 50006, "Cannot send an empty message")
        if body.get("flags", 0) & VOICE:
            if room.guild and not world.guilds[room.guild].permissions & 1 << 46:
                raise ApiError(400, 50173, "You cannot send voice messages in this channel.")
            world.check_voice(body, sent)
        world.check_pings(body, text, False)
        shown = world.add(
            room,
            BOT_ID,
            text.strip(),
            flags=body.get("flags", 0),
            buttons_json=buttons,
            files=sent,
            reply_to=self._reply_to(room, body),
            nonce=nonce,
        )
        self._tells.tell("MESSAGE_CREATE", world.json(shown), room)
        return world.json(shown)

    def _reply_to(self, room: Room, body: Json) -> int | None:
        reference = body.get("message_reference")
        if reference is None:
            return None
        id_ = int(reference["message_id"])
        shown = room.messages.get(id_)
        if shown is not None and not shown.is_deleted:
            return id_
        if reference.get("fail_if_not_exists", True):
            what = "MESSAGE_REFERENCE_UNKNOWN_MESSAGE"
            raise invalid("message_reference", what, "Unknown message")
        return None

    def _files_of(self, room: Room, body: Json, files: Files) -> list[Json]:
        """Attachments of a message: sent along, or uploaded before."""
        if len(files) + len(body.get("attachments") or []) > 20 or len(files) > 10:
            raise invalid("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
        attachments = {str(one["id"]): one for one in body.get("attachments") or []}
        made = []
        for field, name, data in files:
            about = attachments.pop(field.removeprefix("files[").removesuffix("]"), {})
            made.append(self._attachment(room, about.get("filename", name), data, about))
        for about in attachments.values():
            if "uploaded_filename" not in about:
                raise invalid("attachments.0.id", "UNKNOWN", "Unknown attachment")
            if about["uploaded_filename"] not in self.world.uploads:
                raise invalid("attachments.0", "ATTACHMENT_NOT_FOUND", "Not uploaded")
            name, data = self.world.uploads[about["uploaded_filename"]]
            made.append(self._attachment(room, about["filename"], data, about))
        if sum(one["size"] for one in made) > 25 * MIB + self.upload_limit:
            raise ApiError(413, 40005, "Request entity too large")
        return made

    def _attachment(self, room: Room, name: str, data: bytes, about: Json) -> Json:
        if len(data) > self.upload_limit:
            raise ApiError(413, 40005, "Request entity too large")
        id_, name = self.world.new_id(), re.sub(r"[^\w.-]+", "_", name).strip("._")
        url = f"{self.base.partition('/api')[0]}/attachments/{room.id}/{id_}/{name}?ex=1&hm=2"
        self.world.blobs[url] = data
        kept = {key: about[key] for key in ("duration_secs", "waveform") if key in about}
        return {"id": str(id_), "filename": name, "size": len(data), "url": url, **kept}

    def person_attachment(self, room: Room, name: str, data: bytes, **about: Any) -> Json:
        """One that a person sends."""
        made = self._attachment(room, name, data, about)
        return made | {key: value for key, value in about.items() if value is not None}

    def _history(self, id_: str, query: Mapping[str, str]) -> list[Json]:
        room = self.world.room_for(id_)
        limit = int(query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise invalid("limit", "NUMBER_TYPE_MAX", "Must be 1 to 100.")
        standing = [one for _, one in sorted(room.messages.items()) if not one.is_deleted]
        if "after" in query:
            found = [one for one in standing if one.id > int(query["after"])][:limit]
        elif "before" in query:
            found = [one for one in standing if one.id < int(query["before"])][-limit:]
        else:
            found = standing[-limit:]
        content = self.world.message_content
        return [self.world.json(one, content=content) for one in reversed(found)]

    def _message(self, id_: str, message: str) -> Json:
        room = self.world.room_for(id_, "READ_MESSAGE_HISTORY")
        return self.world.json(self.world.message_in(room, message))

    def _edit(self, id_: str, message: str, body: Json) -> Json:
        world = self.world
        room = world.room_for(id_)
        shown = world.message_in(room, message)
        if not shown.is_mine:
            raise ApiError(403, 50005, "Cannot edit a message authored by another user")
        if shown.flags & VOICE:
            raise ApiError(400, 50162, "Voice messages cannot be edited")
        if room.archived:
            raise ApiError(400, 50083, "Thread is archived")
        if time.time() - shown.made > self.old_seconds and len(shown.edits) > 2:
            why = "Maximum number of edits to messages older than 1 hour reached"
            raise ApiError(429, 30046, why, retry_after=self.old_wait, **{"global": False})
        text = world.check_text(body) if "content" in body else shown.text
        if not text.strip() and not shown.files:
            raise ApiError(400, 50006, "Cannot send an empty message")
        if "content" in body:
            world.check_pings({"flags": shown.flags} | body, text, True)
            shown.history.append(shown.text)
            shown.text = text.strip()
            shown.edits.append(time.monotonic())
        if "components" in body:
            shown.buttons_json = world.check_buttons(body)
        shown.edited = time.time()
        self._tells.tell("MESSAGE_UPDATE", world.json(shown), room)
        return world.json(shown)

    def _delete(self, id_: str, message: str) -> None:
        room = self.world.room_for(id_)
        shown = self.world.message_in(room, message)
        if not shown.is_mine:
            raise ApiError(403, 50013, "Missing Permissions")
        shown.is_deleted = True
        self._tells.tell("MESSAGE_DELETE", deletion(room, shown), room)

    def _react(self, id_: str, message: str, emoji: str) -> None:
        room = self.world.room_for(id_, "ADD_REACTIONS")
        if len(emoji) > 8 and ":" not in emoji:
            raise ApiError(400, 10014, "Unknown Emoji")
        self.world.message_in(room, message).reactions.setdefault(emoji, set()).add(BOT_ID)

    def _unreact(self, id_: str, message: str, emoji: str) -> None:
        room = self.world.room_for(id_)
        self.world.message_in(room, message).reactions.get(emoji, set()).discard(BOT_ID)

    def _thread(self, id_: str, message: str, body: Json) -> Json:
        room = self.world.room_for(id_, "CREATE_PUBLIC_THREADS")
        self.world.message_in(room, message)
        if int(message) in self.world.rooms:
            raise ApiError(400, 160004, "A thread has already been created for this message")
        if not 1 <= len(body.get("name", "")) <= 100:
            raise invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        assert room.guild is not None
        thread = Room(int(message), 11, room.guild, None, room.id, body["name"], owner=BOT_ID)
        self.world.rooms[thread.id] = thread
        self.world.guilds[room.guild].rooms.append(thread.id)
        self._tells.tell("THREAD_CREATE", thread.json | {"newly_created": True}, room)
        return thread.json

    def _archived(self, id_: str) -> Json:
        self.world.room_for(id_, "READ_MESSAGE_HISTORY")
        rooms = [r for r in self.world.rooms.values() if r.parent == int(id_) and r.archived]
        return {"threads": [one.json for one in rooms], "members": [], "has_more": False}

    def _typing(self, id_: str) -> None:
        self.typed.append(self.world.room_for(id_).id)

    def _upload(self, id_: str, body: Json) -> Json:
        room = self.world.room_for(id_, "ATTACH_FILES")
        made = []
        for one in body["files"]:
            if one["file_size"] > self.upload_limit:
                raise ApiError(413, 40005, "Request entity too large")
            key = f"{self.world.new_id()}/{one['filename']}"
            self.world.uploads[key] = (one["filename"], b"")
            url = f"{self.base.partition('/api')[0]}/upload/{key}"
            made.append({"id": one.get("id", "0"), "upload_url": url, "upload_filename": key})
        assert room
        return {"attachments": made}

    # Presses and commands

    def _callback(self, id_: str, token: str, body: Json) -> None:
        known = self.interactions.get(id_)
        if known is None or known[0] != token:
            raise ApiError(404, 10062, "Unknown interaction")
        if id_ in self.answered:
            raise ApiError(400, 40060, "Interaction has already been acknowledged.")
        if time.monotonic() - known[1] > self.interaction_seconds:
            raise ApiError(404, 10062, "Unknown interaction")
        if body["type"] not in (4, 5, 6, 7):
            raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7}.")
        self.world.check_text(body.get("data") or {})
        self.answered[id_] = body

    def _followup(self, _application: str, token: str, body: Json) -> Json:
        found = [id_ for id_, one in self.interactions.items() if one[0] == token]
        if not found or found[0] not in self.answered:
            raise ApiError(404, 10015, "Unknown Webhook")
        self.world.check_text(body)
        self.followups.append((found[0], body))
        return {"id": str(self.world.new_id())}


def deletion(room: Room, shown: ShownMessage) -> Json:
    """The event data of a deleted message."""
    made = {"id": str(shown.id), "channel_id": str(room.id)}
    return made | ({"guild_id": str(room.guild)} if room.guild is not None else {})


def read_json(body: bytes) -> Any:
    """The JSON of a request."""
    try:
        return json.loads(body) if body else {}
    except ValueError:
        raise ApiError(400, 50109, "The request body contains invalid JSON.") from None
