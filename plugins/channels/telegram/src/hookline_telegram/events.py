"""Parses updates of the Bot API.

Unknown and missing fields are tolerated, so that the rest of an update is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookline_channelkit import RemoteFile, author_label, get_in, quote_fields

CHANNEL = "telegram"
Json: TypeAlias = Mapping[str, Any]
FILE_FIELDS = ("photo", "voice", "audio", "animation", "video", "video_note", "document")
"""Fields of a message with a file; an animation also has ``document``."""
AUDIO_FIELDS = frozenset({"voice", "audio"})
_NAMES = {"photo": "photo.jpg", "voice": "voice.oga", "animation": "animation.mp4"}


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The bot itself."""

    id: int
    name: str

    @classmethod
    def of(cls, user: Json) -> BotAccount:
        """Return the account from the answer of ``getMe``."""
        return cls(int(user["id"]), str(user.get("username") or ""))


def chat_of(update: Json) -> int:
    """Return the chat of an update, 0 without one. Order matters within a chat."""
    message = update.get("message") or update.get("edited_message")
    return int(
        get_in(message or get_in(update, "callback_query", "message"), "chat", "id", default=0)
    )


def thread_of(message: Json) -> str | None:
    """Return the topic of a message. In ordinary groups, the thread of a reply is not a topic."""
    return str(message["message_thread_id"]) if message.get("is_topic_message") else None


def is_of_person(message: Json) -> bool:
    """Whether a person wrote a message, and not a bot, the service or a channel."""
    sender = message.get("from") or {}
    return bool(sender) and not sender.get("is_bot")


def is_private(message: Json) -> bool:
    """Whether a message is in a chat with one person."""
    return bool(message["chat"].get("type") == "private")


def sender_of(author: Json) -> str:
    """Return a person's display name."""
    names = (str(author.get(part) or "") for part in ("first_name", "last_name"))
    return " ".join(name for name in names if name) or str(author.get("username") or "")


def forwarded_from(message: Json) -> str:
    """Return the author of a forwarded message; empty if its sender wrote it.

    Text of an inline bot (``via_bot``) counts as forwarded.
    """
    for field, author_of in _FORWARDS.items():
        if found := message.get(field):
            return author_of(found)
    name = message.get("forward_sender_name")
    is_forwarded = name is not None or "forward_date" in message
    return author_label(str(name or "")) if is_forwarded else ""


def quoted_in(message: Json, me: BotAccount) -> dict[str, Any]:
    """Return what a message quotes, and the author of that."""
    answered = message.get("reply_to_message") or {}
    elsewhere = message.get("external_reply") or {}
    part = get_in(message, "quote", "text")
    text = str(part or answered.get("text") or answered.get("caption") or "")
    if elsewhere and not answered:
        return quote_fields(text, _author_of(elsewhere.get("origin") or {}))
    author, writer = forwarded_from(answered), answered.get("from") or {}
    if not author and (place := answered.get("sender_chat")):
        author = _place(place)
    elif not author and writer.get("id") not in (me.id, get_in(message, "from", "id")):
        author = _user(writer)
    return quote_fields(text, author, str(get_in(answered, "message_id")) or None)


def _author_of(origin: Json) -> str:
    """Return the author in a ``MessageOrigin``, a person or a chat
    (core.telegram.org/bots/api#messageorigin)."""
    if user := origin.get("sender_user"):
        return _user(user)
    if place := origin.get("sender_chat") or origin.get("chat"):
        return _place(place)
    return author_label(str(origin.get("sender_user_name") or ""))


def _user(user: Json) -> str:
    return author_label(sender_of(user), f"{CHANNEL}:{user['id']}" if "id" in user else "")


def _place(chat: Json) -> str:
    name = str(chat.get("title") or chat.get("username") or "")
    return author_label(name, f"{CHANNEL}:{chat['id']}" if "id" in chat else "")


_FORWARDS: Mapping[str, Callable[[Json], str]] = {
    "forward_origin": _author_of,
    "via_bot": _user,
    "forward_from": _user,
    "forward_from_chat": _place,
}
"""Fields with the original author of a message; the last two are of older servers
(core.telegram.org/bots/api-changelog, Bot API 7.0)."""


def is_addressed(message: Json, me: BotAccount) -> bool:
    """Whether a message is private, mentions the bot, replies to it, or is a command for it."""
    if is_private(message):
        return True
    mine = f"@{me.name}".casefold()
    for kind, part, entity in _entities(message):
        if kind in ("mention", "bot_command") and part.casefold().endswith(mine):
            return True
        if kind == "text_mention" and get_in(entity, "user", "id") == me.id:
            return True
    answered = message.get("reply_to_message") or {}
    return get_in(answered, "from", "id") == me.id and "forum_topic_created" not in answered


def words_of(message: Json, me: BotAccount) -> str | None:
    """Return text or caption without a leading mention of the bot; None for another bot's command.

    ``/start``, which apps send when the chat is opened, means ``/help``; with text after it (a link
    ``t.me/BOT?start=TEXT``) it means that text.
    """
    text = str(message.get("text") or message.get("caption") or _other(message))
    mine = f"@{me.name}".casefold()
    for kind, part, entity in _entities(message):
        if entity.get("offset") != 0:
            continue
        rest = text[len(part) :]
        command, _, name = part.partition("@")
        if kind == "bot_command" and name and f"@{name}".casefold() != mine:
            return None
        if kind == "bot_command":
            text = command + rest
        elif kind == "mention" and part.casefold() == mine:
            text = rest.lstrip(" ,:\n")
    if text.split(None, 1)[:1] == ["/start"]:
        return text[len("/start") :].strip() or "/help"
    return text


def _other(message: Json) -> str:
    if place := message.get("location"):
        return f"(location: {place.get('latitude')}, {place.get('longitude')})"
    return str(get_in(message, "sticker", "emoji"))


def _entities(message: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield type, text and data of each entity; their offsets count UTF-16 units."""
    text = str(message.get("text") or message.get("caption") or "")
    units = text.encode("utf-16-le", "surrogatepass")
    for entity in message.get("entities") or message.get("caption_entities") or ():
        start, length = int(entity["offset"]), int(entity["length"])
        part = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
        yield str(entity["type"]), part, entity


def file_of(message: Json) -> RemoteFile | None:
    """Return the file of a message; of a photo, the largest size."""
    for kind in FILE_FIELDS:
        if about := message.get(kind):
            about = max(about, key=_pixels) if kind == "photo" else about
            name = str(about.get("file_name") or _NAMES.get(kind, kind))
            size, seconds = about.get("file_size") or 0, about.get("duration") or 0
            return RemoteFile(
                about["file_id"],
                name,
                int(size),
                kind in AUDIO_FIELDS,
                float(seconds),
                is_recording=kind == "voice",
            )
    return None


def _pixels(photo: Json) -> int:
    return int(get_in(photo, "width", default=0)) * int(get_in(photo, "height", default=0))


def units_of(updates: Sequence[Json]) -> Iterator[tuple[Literal["message", "edit", "press"], Any]]:
    """Yield messages as lists, the pictures of an album as one; and button presses."""
    albums: dict[str, list[Json]] = {}
    for update in updates:
        message = update.get("message") or {}
        if album := message.get("media_group_id"):
            albums.setdefault(album, []).append(message)
    for update in updates:
        if message := update.get("message"):
            whole = albums.get(message.get("media_group_id", ""), [message])
            if whole[0] is message:
                yield "message", whole
        elif "edited_message" in update:
            yield "edit", [update["edited_message"]]
        elif "callback_query" in update:
            yield "press", update["callback_query"]
