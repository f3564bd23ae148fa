"""What an event, or an item of a chat's history, says. Both are read as they came: a field that is
new, or missing, is then no reason to lose the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hookline_channelkit import Arrival, RemoteFile
from hookline_hookspecs import Inbound

from .api import Json

EMOJI = {
    "THUMBSUP": "👍", "ThumbsDown": "👎", "HEART": "❤️", "OK": "👌", "DONE": "✅", "PARTY": "🎉",
    "CLAP": "👏", "FIRE": "🔥", "SMILE": "😄", "LAUGH": "😂", "CRY": "😢", "ANGRY": "😠",
    "THINKING": "🤔", "EYES": "👀", "MUSCLE": "💪", "CrossMark": "❌", "THANKS": "🙏", "WOW": "😮",
}  # fmt: skip
"""Feishu's names of common reactions (open.feishu.cn, emoji list)."""
_NAMES = {"image": "picture.png", "audio": "voice.opus", "media": "video.mp4", "file": "file"}
_KINDS = {"sticker": "(a sticker)", "location": "(a place)", "share_chat": "(a group's card)",
          "share_user": "(a person's card)", "interactive": "(a card)",
          "merge_forward": "(a conversation)"}  # fmt: skip


def message_of(event: Json) -> Json:
    """The message of an event, as history lists it."""
    told = event.get("message") or {}
    sender = event.get("sender") or {}
    who = (sender.get("sender_id") or {}).get("open_id", "")
    return {
        **told,
        "msg_type": told.get("message_type"),
        "body": {"content": told.get("content")},
        "sender": {"id": who, "sender_type": sender.get("sender_type")},
    }


def is_of_person(item: Json) -> bool:
    """False for bots and for what the service tells."""
    return (item.get("sender") or {}).get("sender_type") == "user" and not item.get("deleted")


def place_of(item: Json) -> str:
    """The name of the chat, ``CHAT`` or ``CHAT:THREAD``."""
    thread = item.get("thread_id")
    return f"{item['chat_id']}:{thread}" if thread else str(item["chat_id"])


def mentions_of(item: Json) -> dict[str, tuple[str, str]]:
    """Placeholders of the text, with open id and name."""
    found = {}
    for one in item.get("mentions") or ():
        who = one.get("id")
        open_id = who.get("open_id", "") if isinstance(who, Mapping) else who
        found[str(one.get("key"))] = str(open_id or ""), str(one.get("name") or "somebody")
    return found


def arrival_of(item: Json, me: str, *, private: bool, kind: str = "message") -> Arrival | None:
    """A person's message; None if it holds nothing that can be read. ``me`` is the bot."""
    text, files = _readable(item, me)
    if not text and not files:
        if not is_named(item, me):
            return None
        text = "(you were mentioned)"
    made, id_ = str(item.get("create_time") or "0"), str(item["message_id"])
    thread = item.get("thread_id") or None
    inbound = Inbound(
        channel="", chat_id=place_of(item), user_id=str(item["sender"]["id"]),
        message_id="" if kind == "edit" else id_, text=text, private=private, thread=thread,
        addressed=private or is_named(item, me), parent=item["chat_id"] if thread else None,
        sent=int(made) / 1000, kind="edit" if kind == "edit" else "message",
        target=id_ if kind == "edit" else None, reply_to=item.get("parent_id") or None,
    )  # fmt: skip
    return Arrival(inbound, files, "" if kind == "edit" else made)


def is_named(item: Json, me: str) -> bool:
    """True where the bot is mentioned."""
    return any(open_id == me for open_id, _ in mentions_of(item).values())


def words_of(item: Json) -> str:
    """The words of a message, without its files."""
    return "" if item.get("deleted") else _readable(item, "")[0]


def _readable(item: Json, me: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """Words and files, with names in place of mentions; the bot's own name is left out."""
    try:
        body = json.loads((item.get("body") or {}).get("content") or "{}")
    except ValueError:
        body = {}
    text, files = _said(str(item.get("msg_type")), body, str(item["message_id"]))
    mentions = mentions_of(item)
    for key in sorted(mentions, key=len, reverse=True):  # @_user_1 begins @_user_12 too
        open_id, name = mentions[key]
        text = text.replace(key, "" if open_id == me else f"@{name}")
    return text.strip(), files


def _said(kind: str, body: Any, message: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """Words and files of a message."""
    if not isinstance(body, dict):
        return "", ()
    if kind == "text":
        return str(body.get("text") or ""), ()
    if kind == "post":
        return _post(body, message)
    if kind in _NAMES:
        name = str(body.get("file_name") or _NAMES[kind])
        seconds = float(body.get("duration") or 0) / 1000
        key, type_ = (body.get("image_key"), "image") if kind == "image" else (
            body.get("file_key"), "file")  # fmt: skip
        ref = f"{message}/{key}/{type_}"
        return "", (RemoteFile(ref, name, is_voice=kind == "audio", seconds=seconds),)
    return _KINDS.get(kind, ""), ()


def _post(body: Json, message: str) -> tuple[str, tuple[RemoteFile, ...]]:
    """A post; the words of its first language."""
    if "content" not in body:
        body = next((one for one in body.values() if isinstance(one, dict)), {})
    lines, files = [str(body.get("title") or "")], []
    for line in body.get("content") or ():
        words = ""
        for part in line:
            key = part.get("image_key") or part.get("file_key")
            if key:
                type_ = "image" if part.get("tag") == "img" else "file"
                files.append(RemoteFile(f"{message}/{key}/{type_}", _NAMES.get(type_, "file")))
            elif part.get("tag") == "at":
                words += str(part.get("user_id") or "")
            elif part.get("tag") == "a":
                words += f"{part.get('text', '')} ({part.get('href', '')})"
            elif part.get("tag") == "code_block":
                words += f"```{str(part.get('language', '')).lower()}\n{part.get('text', '')}\n```"
            else:
                words += str(part.get("text") or "")
        lines.append(words)
    return "\n".join(lines).strip("\n"), tuple(files)
