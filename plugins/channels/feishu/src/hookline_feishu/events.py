"""Parses events, and messages of a chat's history.

Unknown and missing fields are tolerated, so that the rest of a message is not lost.
"""

from __future__ import annotations

from typing import Any

from hookline_channelkit import (
    InboundEvent,
    RemoteFile,
    code_block,
    code_span,
    describe_kind,
    get_in,
    link_text,
)
from hookline_hookspecs import Inbound
from hookline_hookspecs.strict_json import read_json_object

from .api import Json
from .config import FACTS
from .kinds import words_of_kind

FILE_NAMES = FACTS["names"]
"""Names for files without one, by the kind of message."""


def message_of(event: Json) -> Json:
    """Return the message of an event in the form of the history."""
    message: Json = get_in(event, "message", default={})
    who = get_in(event, "sender", "sender_id", "open_id")
    return {
        **message,
        "msg_type": message.get("message_type"),
        "body": {"content": message.get("content")},
        "sender": {"id": who, "sender_type": get_in(event, "sender", "sender_type")},
    }


def is_of_person(item: Json) -> bool:
    """Whether a person wrote a message, and not a bot or the service."""
    return bool(get_in(item, "sender", "sender_type") == "user" and not item.get("deleted"))


def place_of(item: Json) -> str:
    """Return the id of the chat, ``CHAT`` or ``CHAT:THREAD``."""
    thread = item.get("thread_id")
    return f"{item['chat_id']}:{thread}" if thread else str(item["chat_id"])


def mentions_of(item: Json) -> dict[str, tuple[str, str]]:
    """Return open id and name of each placeholder in the text."""
    found = {}
    for one in item.get("mentions") or ():
        open_id = get_in(one, "id", "open_id") or one.get("id")  # in events, and in history
        found[str(one.get("key"))] = str(open_id or ""), str(one.get("name") or "somebody")
    return found


def message_event(item: Json, me: str, *, private: bool) -> InboundEvent | None:
    """Return a person's message; None if its content is unsupported. ``me`` is the bot."""
    text, files = _readable(item, me)
    is_unreadable = not text and not files and item.get("msg_type") not in ("text", "post")
    if not text and not files and not is_unreadable:
        if not is_named(item, me):
            return None
        text = "(you were mentioned)"
    made, thread = str(item.get("create_time") or "0"), item.get("thread_id") or None
    inbound = Inbound(
        channel="",
        chat_id=place_of(item),
        user_id=str(item["sender"]["id"]),
        message_id=str(item["message_id"]),
        text=text,
        private=private,
        addressed=private or is_named(item, me),
        thread=thread,
        parent=item["chat_id"] if thread else None,
        sent=int(made) / 1000,
        reply_to=item.get("parent_id") or None,
    )
    found = InboundEvent(inbound, files, made)
    return found.as_unreadable(str(item.get("msg_type"))) if is_unreadable else found


def is_named(item: Json, me: str) -> bool:
    """Whether the bot is mentioned."""
    return any(open_id == me for open_id, _ in mentions_of(item).values())


def words_of(item: Json) -> str:
    """Return the text of a message, with words for its files."""
    if item.get("deleted"):
        return describe_kind("message that is gone")
    text, files = _readable(item, "")
    kind = str(item.get("msg_type"))
    named = [describe_kind(kind if kind in FILE_NAMES else "picture") for _ in files]
    return "\n".join(filter(None, (text, *named))) or describe_kind(kind)


def _readable(item: Json, me: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """Return text and files, with names in place of mentions, without the bot's own."""
    try:
        content = get_in(item, "body", "content", default="{}")
        body = read_json_object(str(content), any_text=True)
    except ValueError:
        body = {}
    text, files = _content(str(item.get("msg_type")), body, str(item["message_id"]))
    mentions = mentions_of(item)
    for key in sorted(mentions, key=len, reverse=True):  # @_user_1 begins @_user_12 too
        open_id, name = mentions[key]
        text = text.replace(key, "" if open_id == me else f"@{name}")
    return text.strip(), files


def _content(kind: str, body: Any, message: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """Return text and files of a message's content."""
    if not isinstance(body, dict):
        return "", ()
    if kind == "text":
        return str(body.get("text") or ""), ()
    if kind == "post":
        return _post(body, message)
    if kind in FILE_NAMES:
        name = str(body.get("file_name") or FILE_NAMES[kind])
        seconds = float(body.get("duration") or 0) / 1000
        type_ = "image" if kind == "image" else "file"
        ref = f"{message}/{body.get(f'{type_}_key')}/{type_}"
        return "", (
            RemoteFile(
                ref, name, is_voice=kind == "audio", seconds=seconds, is_recording=kind == "audio"
            ),
        )
    return words_of_kind(kind, body), ()


def _post(body: Json, message: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """Return text and files of a post, in its first language."""
    if "content" not in body:
        body = next((one for one in body.values() if isinstance(one, dict)), {})
    lines, files = [str(body.get("title") or "")], []
    for line in body.get("content") or ():
        lines.append("".join(map(_words, line)))
        for part in line:
            if key := part.get("image_key") or part.get("file_key"):
                type_ = "image" if part.get("tag") == "img" else "file"
                files.append(RemoteFile(f"{message}/{key}/{type_}", FILE_NAMES[type_]))
    return "\n".join(lines).strip("\n"), tuple(files)


def _words(part: Json) -> str:
    """Return the text of a part of a post."""
    text = str(part.get("text") or "")
    match part.get("tag"):
        case "at":
            return str(part.get("user_id") or "")
        case "a":
            return link_text(text, str(part.get("href") or ""))
        case "code_block":
            return code_block(text, str(part.get("language") or "").lower())
        case "emotion":
            name = part.get("emoji_type")
            return str(FACTS["emoji"].get(name, f":{name}:"))
        case "hr":
            return "---"
        case "img" | "media":
            return ""
    styles = part.get("style") or ()
    if "codeInline" in styles:
        return code_span(text)
    return f"~~{text}~~" if "lineThrough" in styles and text.strip() else text
