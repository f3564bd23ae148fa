"""Parses updates of the Bot API.

Unknown and missing fields are tolerated, so that the rest of an update is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookline_channelkit import RemoteFile, author_label, describe_kind, get_in, quote_fields, utf16

from .entities import EntityText
from .kinds import words_of_kind

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
    message = _message_of(update) or get_in(update, "callback_query", "message")
    return int(get_in(message, "chat", "id", default=0))


def writer_of(update: Json) -> tuple[int, int]:
    """Return chat and person of an update."""
    person = get_in(_message_of(update) or update.get("callback_query"), "from", "id", default=0)
    return chat_of(update), int(person)


def sent_at(update: Json) -> float:
    """Return when the message of an update was sent; 0 without one."""
    return float(get_in(_message_of(update), "date", default=0))


def _message_of(update: Json) -> Json:
    return update.get("message") or update.get("edited_message") or {}


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
    part = EntityText(message.get("quote") or {}).markdown()
    if "forum_topic_created" in answered:  # the topic, in which every message is a reply to it
        return quote_fields(part)
    if elsewhere and not answered:
        text = part or content_of(elsewhere) or describe_kind("message that bots cannot see")
        origin: Json = elsewhere.get("origin") or {}
        by = _whose(origin.get("sender_user") or {}, message, me)
        # The bot's words in another chat may be about what others wrote there.
        return quote_fields(text, "" if by == "sender" else _author_of(origin), by=by)
    if story := message.get("reply_to_story"):
        return quote_fields(content_of({"story": story}), _place(story.get("chat") or {}))
    text, author = part or content_of(answered), forwarded_from(answered)
    writer, by = answered.get("from") or {}, _whose(answered.get("from") or {}, message, me)
    if not author and (place := answered.get("sender_chat")):
        author = _place(place)
    elif not author and not by:
        author = _user(writer)
    number = str(get_in(answered, "message_id")) or None
    return quote_fields(text, author, number, by="" if author else by)


def _whose(writer: Json, message: Json, me: BotAccount) -> Literal["", "agent", "sender"]:
    """Return whether the bot or the sender of a message wrote what it quotes."""
    if writer.get("id") == me.id:
        return "agent"
    is_own = "id" in writer and writer["id"] == get_in(message, "from", "id")
    return "sender" if is_own else ""


def content_of(message: Json) -> str:
    """Return the text of a message with its links and code, and words for what else it shows."""
    file = file_of(message)
    what = words_of_kind(message) or (describe_kind(_file_kind(message)) if file else "")
    return "\n".join(filter(None, (EntityText(message).markdown(), what)))


def _file_kind(message: Json) -> str:
    kind = next(field for field in FILE_FIELDS if message.get(field))
    name = get_in(message, kind, "file_name") if kind != "photo" else ""
    return f"{kind.replace('_', ' ')} {name}".rstrip()


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
    name = str(chat.get("title") or sender_of(chat))
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
    for kind, part, entity in EntityText(message).parts():
        if kind in ("mention", "bot_command") and part.casefold().endswith(mine):
            return True
        if kind == "text_mention" and get_in(entity, "user", "id") == me.id:
            return True
    answered = message.get("reply_to_message") or {}
    return get_in(answered, "from", "id") == me.id and "forum_topic_created" not in answered


def words_of(message: Json, me: BotAccount) -> str | None:
    """Return text or caption without a leading mention of the bot; None for another bot's command.

    Links and code are marked as in Markdown. ``/start``, which apps send when the chat is opened,
    means ``/help``; with text after it (a link ``t.me/BOT?start=TEXT``) it means that text.
    """
    content, mine = EntityText(message), f"@{me.name}".casefold()
    command, start, is_named = "", 0, False
    for kind, part, entity in content.parts():
        if entity["offset"] != 0:
            continue
        if kind == "bot_command":
            command, _, name = part.partition("@")
            if name and f"@{name}".casefold() != mine:
                return None
            start = utf16(part)
        elif kind == "mention" and part.casefold() == mine:
            start, is_named = utf16(part), True
    if is_named:
        rest = content.part(start)
        start += utf16(rest) - utf16(rest.lstrip(" ,:\n"))
    text = command + content.markdown(start)
    text = "\n".join(filter(None, (text, words_of_kind(message))))
    if text.split(None, 1)[:1] == ["/start"]:
        return text[len("/start") :].strip() or "/help"
    return text


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
