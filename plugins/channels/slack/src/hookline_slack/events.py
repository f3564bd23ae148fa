"""Parses Slack's events. Unknown and missing fields are tolerated, so that the rest is not lost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookline_channelkit import (
    InboundEvent,
    RemoteFile,
    author_label,
    describe_kind,
    get_in,
    quote_fields,
)
from hookline_hookspecs import Inbound

from .config import Json, data
from .contents import attachment_text, content_of, own_text, unescaped, with_tables

WRITTEN_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
"""Subtypes of messages with text of an author; others report what happened in a channel."""
EMOJI: Mapping[str, str] = data("emoji.json")
NAMES = {name: sign for sign, name in EMOJI.items()}
MENTIONED = "(you were mentioned)"
_PERMALINK = re.compile(r"https://[\w.-]+/archives/[A-Z0-9]+/p\d{10,}")
_BANG = re.compile(r"!(?=[A-Za-z])")


def escaped(text: str) -> str:
    """Return a text without markup and mentions
    (docs.slack.dev/messaging/formatting-message-text, escaping)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(text: str, me: str) -> str:
    """Return a message's text without a leading mention of the bot and without markup."""
    return unescaped(text.strip().removeprefix(f"<@{me}>").lstrip(" ,:\n"))


def split(name: str) -> tuple[str, str]:
    """Return channel and thread of a chat, or channel and ``ts`` of a message."""
    channel, _, rest = name.partition(":")
    return channel, rest


def chat_of(channel: str, ts: str, thread: str, *, is_mine: bool = False) -> str:
    """Return the chat of a message: its thread.

    A message outside a thread starts one in a channel, unless the bot wrote it; in direct messages
    it does not.
    """
    if thread and thread != ts:
        return f"{channel}:{thread}"
    return channel if channel.startswith("D") or is_mine else f"{channel}:{ts}"


def _inbound(chat: str, user: str, id_: str, text: str, **more: Any) -> Inbound:
    channel, thread = split(chat)
    where: Any = {"thread": thread or None, "parent": channel if thread else None}
    private = channel.startswith("D")
    return Inbound("slack", chat, user, id_, text, private=private, **where, **more)


def message(event: Json, me: str) -> InboundEvent:
    """Parse a message, also one of a history; ``event`` must have a ``channel``."""
    channel, ts, thread = event["channel"], event["ts"], event.get("thread_ts") or ""
    user = str(event.get("user") or event.get("bot_id") or "")
    raw = str(event.get("text") or "")
    text = with_tables(plain(raw, me), event) if raw else own_text(event)
    chat = chat_of(channel, ts, thread)
    inbound = _inbound(chat, user, f"{channel}:{ts}", text, sent=float(ts))
    files = tuple(map(_file, event.get("files") or ()))
    if "bot_id" in event and raw:
        beside = [one for one in event.get("attachments") or () if not _is_message(one)]
        text = "\n".join(filter(None, (text, *map(attachment_text, beside))))
        inbound = replace(inbound, text=text)
    if shared := shared_messages(event):
        inbound = _with_shared(inbound, shared, me)
    elif _BANG.match(text):
        inbound = replace(inbound, text="/" + text[1:])
    elif not text and raw.strip():
        inbound = replace(inbound, text=MENTIONED)
    elif not text:
        inbound = replace(inbound, text=content_of({**event, "files": ()}))
    found = InboundEvent(inbound, files, ts, "" if thread else channel)
    is_empty = not inbound.text and not files
    return found.as_unreadable(event.get("subtype") or "without text") if is_empty else found


def shared_messages(message: Json) -> list[Json]:
    """Return the messages that a message shares, or to which a link in it leads."""
    return [one for one in message.get("attachments") or () if _is_message(one)]


def _is_message(attachment: Json) -> bool:
    return bool(attachment.get("is_share") or attachment.get("is_msg_unfurl"))


def has_permalink(message: Json) -> bool:
    """Whether a message has a link to a message, which Slack has not followed yet."""
    return not shared_messages(message) and bool(_PERMALINK.search(str(message.get("text"))))


def unfurled(payload: Json) -> tuple[str, list[Json]] | None:
    """Return the id of a message in which Slack has now followed a link, and its attachments."""
    event = get_in(payload, "event", default={})
    new = get_in(event, "message", default={})
    if get_in(event, "subtype") != "message_changed" or not shared_messages(new):
        return None
    return f"{event.get('channel')}:{new.get('ts')}", list(new["attachments"])


def _with_shared(inbound: Inbound, shared: Sequence[Json], me: str) -> Inbound:
    """Return a message with the messages that it shares: forwarded, or quoted beside a text."""
    words = "\n\n".join(attachment_text(one) or content_of(one) for one in shared)
    words = words if words.strip() else describe_kind("message without text")
    others = [one for one in shared if one.get("author_id") not in (me, inbound.user_id)]
    writer = _author((others or shared)[0])
    if not inbound.text:
        return replace(inbound, text=words, forwarded=writer)
    if others:
        return replace(inbound, **quote_fields(words, writer))
    if any(one.get("author_id") == me for one in shared):
        # The bot's words in another chat may be about what others wrote there.
        return replace(inbound, **quote_fields(words, writer, by="agent"))
    return replace(inbound, **quote_fields(words, by="sender"))


def order_of(payload: Json) -> tuple[str, float]:
    """Return the channel within which payloads are ordered, and the time of the event."""
    place = get_in(payload, "event", "channel") or get_in(payload, "event", "item", "channel")
    try:
        return str(place), float(get_in(payload, "event", "event_ts", default=0))
    except (TypeError, ValueError):
        return "", 0.0


def place_of(payload: Json) -> tuple[str, str] | None:
    """Return the chat whose history has the message, and its ``ts``; None if it is none."""
    event = get_in(payload, "event")
    channel, ts, thread = (str(get_in(event, name)) for name in ("channel", "ts", "thread_ts"))
    if get_in(event, "type") != "message" or get_in(event, "hidden") or not channel or not ts:
        return None
    return (f"{channel}:{thread}" if thread not in ("", ts) else channel), ts


def _author(shared: Json) -> str:
    id_ = shared.get("author_id")
    return author_label(str(shared.get("author_name") or ""), f"slack:{id_}" if id_ else "")


def _file(file: Json) -> RemoteFile:
    is_voice = file.get("subtype") == "slack_audio" or "audio/" in str(file.get("mimetype"))
    name = str(file.get("name") or file.get("title") or "file")
    size, seconds = int(file.get("size") or 0), float(file.get("duration_ms") or 0) / 1000
    is_recording = file.get("subtype") == "slack_audio"
    return RemoteFile(str(file["id"]), name, size, is_voice, seconds, is_recording=is_recording)


def change(event: Json, me: str) -> tuple[Json, InboundEvent] | None:
    """Return the edited or deleted message and the change; None if the text is the same."""
    old: Json = event.get("previous_message") or {}
    new: Json = event.get("message") or {}
    is_gone = event["subtype"] == "message_deleted" or new.get("subtype") == "tombstone"
    if not is_gone and old.get("text") == new.get("text"):
        return None  # a link preview, a reply, or an edit by the bot
    kept = {**(old if is_gone else new), "channel": event["channel"]}
    kept.setdefault("ts", event.get("deleted_ts", ""))
    found = message(kept, me)
    if found.inbound.kind == "unreadable" and not is_gone:
        return None
    news = found.as_deletion() if is_gone else found.as_edit(str(get_in(new, "edited", "ts")))
    return kept, InboundEvent(news.inbound)


def press(payload: Json) -> Inbound:
    """Parse a button press; the kit maps its number to a choice."""
    channel, ts = payload["channel"]["id"], payload["container"]["message_ts"]
    chat = chat_of(channel, ts, payload["message"].get("thread_ts") or "", is_mine=True)
    user, number = payload["user"], str(payload["actions"][0]["value"])
    sender, target = str(user.get("name") or ""), f"{channel}:{ts}"
    more = {"reply_to": target, "target": target, "sender": sender}
    return _inbound(chat, user["id"], "", number, kind="press", **more)


def slash(payload: Json) -> Inbound:
    """Parse one of the app's slash commands: ``/hookline new`` means ``/new``."""
    channel, words = payload["channel_id"], str(payload.get("text") or "").strip()
    line = f"{payload['command']} {words}".strip()
    if payload["command"] == "/hookline":
        line = "/" + (words.removeprefix("/") or "help")
    id_ = f"command:{payload['trigger_id']}"
    return _inbound(channel, payload["user_id"], id_, line, kind="command")


def stop(event: Json) -> Inbound:
    """Parse a press of Slack's Stop button
    (docs.slack.dev/reference/events/agent_session_stopped)."""
    channel, thread = event["channel"], event.get("thread_ts")
    chat = f"{channel}:{thread}" if thread else channel
    id_ = f"stop:{channel}:{event['event_ts']}"
    return _inbound(chat, event["user"], id_, "/stop", kind="command")


def reaction(event: Json, thread: str) -> Inbound:
    """Parse a reaction to a message of the bot; a removed one has no text."""
    channel, ts, name = event["item"]["channel"], event["item"]["ts"], str(event["reaction"])
    text = (NAMES.get(name) or f":{name}:") if event["type"] == "reaction_added" else ""
    chat = chat_of(channel, ts, thread, is_mine=True)
    id_ = f"reaction:{channel}:{event['event_ts']}"
    return _inbound(chat, event["user"], id_, text, kind="reaction", target=f"{channel}:{ts}")
