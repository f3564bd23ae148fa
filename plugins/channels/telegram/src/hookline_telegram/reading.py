"""What an update of the Bot API says. Updates are read as they came: a field that is new, or
missing, is then no reason to lose the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookline_channelkit import RemoteFile, author_label, get_in, quote_fields

CHANNEL = "telegram"
Json: TypeAlias = Mapping[str, Any]
KINDS = ("photo", "voice", "audio", "animation", "video", "video_note", "document")
"""Fields of a message that hold a file; of an animation ``document`` is set, too."""
SOUNDS = frozenset({"voice", "audio"})
_NAMES = {"photo": "photo.jpg", "voice": "voice.oga", "animation": "animation.mp4"}


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself."""

    id: int
    name: str

    @classmethod
    def of(cls, user: Json) -> Me:
        """What ``getMe`` tells."""
        return cls(int(user["id"]), str(user.get("username") or ""))


def chat_of(update: Json) -> int:
    """The chat that an update belongs to, 0 without one; order matters within it."""
    message = update.get("message") or update.get("edited_message")
    return int(
        get_in(message or get_in(update, "callback_query", "message"), "chat", "id", default=0)
    )


def thread_of(message: Json) -> str | None:
    """The topic of a message; replies in ordinary groups have a thread that is none."""
    return str(message["message_thread_id"]) if message.get("is_topic_message") else None


def is_of_person(message: Json) -> bool:
    """False for bots, for what the service tells, and for posts in the name of a channel."""
    sender = message.get("from") or {}
    return bool(sender) and not sender.get("is_bot")


def is_private(message: Json) -> bool:
    """True for a chat with one person."""
    return bool(message["chat"].get("type") == "private")


def sender_of(author: Json) -> str:
    """A person's name as others see it."""
    names = (str(author.get(part) or "") for part in ("first_name", "last_name"))
    return " ".join(name for name in names if name) or str(author.get("username") or "")


def forwarded_from(message: Json) -> str:
    """Whose words a message holds, if its sender only passes them on; empty if they wrote it.

    What a bot wrote that was called in the line of writing (``via_bot``) counts, too.
    """
    for field, told in _FORWARDS.items():
        if found := message.get(field):
            return told(found)
    name = message.get("forward_sender_name")
    is_forwarded = name is not None or "forward_date" in message
    return author_label(str(name or "")) if is_forwarded else ""


def quoted_in(message: Json, me: Me) -> dict[str, Any]:
    """What a message quotes, and whose words those are."""
    answered = message.get("reply_to_message") or {}
    elsewhere = message.get("external_reply") or {}
    part = get_in(message, "quote", "text")
    text = str(part or answered.get("text") or answered.get("caption") or "")
    if elsewhere and not answered:
        return quote_fields(text, _author_of(elsewhere.get("origin") or {}))
    told, writer = forwarded_from(answered), answered.get("from") or {}
    if not told and (place := answered.get("sender_chat")):
        told = _place(place)
    elif not told and writer.get("id") not in (me.id, get_in(message, "from", "id")):
        told = _user(writer)
    return quote_fields(text, told, str(get_in(answered, "message_id")) or None)


def _author_of(origin: Json) -> str:
    """Somebody, or some place, as ``MessageOrigin`` names them
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
"""Fields of a message that name the author of its words; the last two are those of older servers
(core.telegram.org/bots/api-changelog, Bot API 7.0)."""


def is_addressed(message: Json, me: Me) -> bool:
    """True in the chat with one person, and where the bot is mentioned, is replied to, or a command
    names it."""
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


def words_of(message: Json, me: Me) -> str | None:
    """The text or caption without what only addresses the bot; None of a command for another.

    ``/start`` is what an app sends when the chat is opened: it asks for help; with words behind it
    (a link ``t.me/BOT?start=WORDS``) it stands for these.
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
    """Type, text and the rest; offsets count UTF-16 units."""
    text = str(message.get("text") or message.get("caption") or "")
    units = text.encode("utf-16-le", "surrogatepass")
    for entity in message.get("entities") or message.get("caption_entities") or ():
        start, length = int(entity["offset"]), int(entity["length"])
        part = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
        yield str(entity["type"]), part, entity


def file_of(message: Json) -> RemoteFile | None:
    """The file of a message, of a photo the largest."""
    for kind in KINDS:
        if about := message.get(kind):
            about = max(about, key=_pixels) if kind == "photo" else about
            name = str(about.get("file_name") or _NAMES.get(kind, kind))
            size, seconds = about.get("file_size") or 0, about.get("duration") or 0
            return RemoteFile(about["file_id"], name, int(size), kind in SOUNDS, float(seconds))
    return None


def _pixels(photo: Json) -> int:
    return int(get_in(photo, "width", default=0)) * int(get_in(photo, "height", default=0))


def units_of(updates: Sequence[Json]) -> Iterator[tuple[Literal["message", "edit", "press"], Any]]:
    """What is one message for a person, as a list: the pictures of an album are. Presses as they
    came."""
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
