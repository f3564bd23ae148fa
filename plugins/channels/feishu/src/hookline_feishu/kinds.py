"""Words for messages that are no text, post or file.

Their contents are those of open.feishu.cn, im-v1/message/events/receive_v1, message content.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from hookline_channelkit import describe_kind, get_in

from .api import Json
from .config import FACTS

MAX_DEPTH = 16
"""Nesting of a card's elements that is read."""


def words_of_kind(kind: str, body: Json) -> str:
    """Return words for a message; empty if nothing can be said about it."""
    match kind:
        case "share_user":
            return describe_kind("contact", f"feishu:{get_in(body, 'user_id')}")
        case "share_chat":
            return describe_kind("group card", get_in(body, "chat_id"))
        case "location":
            at = (get_in(body, "latitude"), get_in(body, "longitude"))
            return describe_kind("location", get_in(body, "name"), *at)
        case "sticker" | "folder":
            return describe_kind(kind, get_in(body, "file_name"))
        case "hongbao":
            return describe_kind("red packet")
        case "vote":
            options = [f"- {one}" for one in body.get("options") or ()]
            return "\n".join([describe_kind("poll", get_in(body, "topic")), *options])
        case "todo":
            return describe_kind("task", _post_text(get_in(body, "summary")), _day(body))
        case "video_chat" | "calendar" | "share_calendar_event" | "general_calendar":
            name = get_in(body, "topic") or get_in(body, "summary")
            kinds = "video meeting" if kind == "video_chat" else "calendar event"
            return describe_kind(kinds, name, _time(body.get("start_time")))
        case "interactive":
            lines = (text for text in _card_texts(body, 0) if text.strip())
            return "\n".join(lines) or describe_kind("card")
    known: str = FACTS["kinds"].get(kind, "")
    return known


def _day(body: Json) -> str:
    due = _time(body.get("due_time"))
    return f"due {due}" if due else ""


def _time(milliseconds: Any) -> str:
    try:
        at = datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _post_text(post: Any) -> str:
    """Return the text of a post inside another message."""
    lines = get_in(post, "content", default=[])
    words = ("".join(str(get_in(part, "text")) for part in line) for line in lines)
    return " ".join(filter(None, (str(get_in(post, "title")), *words)))


def _card_texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a card as it was sent, or as a history returns it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _card_texts(one, depth + 1)
    elif isinstance(value, dict):
        if value.get("tag") == "button":
            return
        for name in ("title", "content", "text"):
            if isinstance(text := value.get(name), str):
                yield text
        inner = [value.get(name) for name in ("header", "title", "text", "body", "elements")]
        inner += [value.get(name) for name in ("columns", "fields", "i18n_elements")]
        yield from _card_texts([one for one in inner if isinstance(one, (dict, list))], depth + 1)
