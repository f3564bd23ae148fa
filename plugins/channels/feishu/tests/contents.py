"""What the fake checks in messages and cards: sizes, structure, tables, edits."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

KB, MB = 1024, 1024 * 1024
TEXT, RICH = 150 * KB, 30 * KB
"""Bytes of the whole request of a text, and of a post or a card."""
EDITS = 20
TABLES = 3
"""In one card; the service has let 3 to 5 pass."""
_FENCE = re.compile(r"^(`{3,})[^`\n]*\n.*?(?:^\1`*$|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$", re.MULTILINE)


class ApiError(Exception):
    """A response with a code other than 0."""

    def __init__(self, code: int, message: str, status: int = 400, **more: Any) -> None:
        super().__init__(message)
        self.code, self.status = code, status
        self.headers: dict[str, str] = more.pop("headers", {})
        self.body = {"code": code, "msg": message, **more}


@dataclass(slots=True)
class Message:
    """A message as the service keeps it; ``content`` is JSON."""

    id: str
    chat: str
    sender: str
    type: str
    content: str
    created: int
    is_app: bool = False
    updated: int = 0
    root: str = ""
    parent: str = ""
    thread: str = ""
    mentions: list[dict[str, Any]] = field(default_factory=list)
    is_deleted: bool = False
    edits: int = 0
    history: list[str] = field(default_factory=list)
    reactions: dict[str, tuple[str, str]] = field(default_factory=dict)
    card: str = ""
    sent_body: int = 0

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    def item(self) -> dict[str, Any]:
        """As ``im/v1/messages`` lists it."""
        sender = {"id": self.sender, "id_type": "app_id" if self.is_app else "open_id"}
        sender |= {"sender_type": "app" if self.is_app else "user", "tenant_key": "t1"}
        kept = "This message was recalled" if self.is_deleted else self.content
        made: dict[str, Any] = {
            "message_id": self.id, "msg_type": self.type, "chat_id": self.chat,
            "create_time": str(self.created), "update_time": str(self.updated or self.created),
            "deleted": self.is_deleted, "updated": bool(self.updated), "sender": sender,
            "body": {"content": kept},
        }  # fmt: skip
        for key, value in (("root_id", self.root), ("parent_id", self.parent)):
            if value:
                made[key] = value
        if self.thread:
            made["thread_id"] = self.thread
        if self.mentions:
            made["mentions"] = [
                {**one, "id": one["id"]["open_id"], "id_type": "open_id"} for one in self.mentions
            ]
        return made


@dataclass(slots=True)
class Card:
    """A card entity of CardKit."""

    id: str
    body: dict[str, Any]
    opened: float
    sequence: int = 0
    is_streaming: bool = False
    contents: list[tuple[float, str]] = field(default_factory=list)
    closed: int = 0
    bound: int = 0

    def element(self, name: str) -> dict[str, Any]:
        for one in self.body.get("body", {}).get("elements", []):
            if one.get("element_id") == name:
                return one  # type: ignore[no-any-return]
        raise ApiError(300313, "element id not found")


def parsed(content: Any, what: str = "content") -> dict[str, Any]:
    """The JSON in a string."""
    if not isinstance(content, str):
        raise ApiError(230001, f"Your request contains an invalid request parameter: {what}")
    try:
        made = json.loads(content)
    except ValueError:
        raise ApiError(230001, f"invalid {what}: it is no JSON") from None
    if not isinstance(made, dict):
        raise ApiError(230001, f"invalid {what}: it is no object")
    return made


def check(kind: str, content: str, size: int) -> dict[str, Any]:
    """Refuse a message that the service would refuse. ``size`` in bytes, of the request."""
    if size > (TEXT if kind == "text" else RICH):
        raise ApiError(230025, "The length of the message content reaches its limit.")
    body = parsed(content)
    match kind:
        case "text":
            if not str(body.get("text", "")).strip():
                raise ApiError(230001, "text is empty")
        case "post":
            _check_post(body)
        case "interactive":
            if body.get("type") == "card":
                if not isinstance(body.get("data", {}).get("card_id"), str):
                    raise ApiError(230099, "Failed to create card content, ext=ErrCode: 200621")
            else:
                check_card(body)
        case "image":
            if not body.get("image_key"):
                raise ApiError(230001, "image_key is missing")
        case "file" | "audio" | "media":
            if not body.get("file_key"):
                raise ApiError(230001, "file_key is missing")
        case _:
            raise ApiError(230001, f"msg_type {kind} is invalid")
    return body


def _check_post(body: dict[str, Any]) -> None:
    languages = [body[one] for one in ("zh_cn", "en_us", "ja_jp") if one in body]
    if not languages or not any(one.get("content") for one in languages):
        raise ApiError(230001, "invalid post: it has no content")
    for language in languages:
        for line in language["content"]:
            for part in line:
                if part.get("tag") not in {
                    "text", "a", "at", "img", "media", "emotion", "code_block", "hr", "md",
                }:  # fmt: skip
                    raise ApiError(230001, f"invalid post: tag {part.get('tag')}")
            if len(line) > 1 and any(part["tag"] == "md" for part in line):
                raise ApiError(230001, "invalid post: md has to be alone in its line")


def check_card(body: dict[str, Any]) -> None:
    """Refuse a card that cannot be drawn."""
    if len(json.dumps(body, ensure_ascii=False).encode()) > RICH:
        raise ApiError(230025, "The length of the message content reaches its limit.")
    if body.get("schema") != "2.0":
        raise ApiError(230099, "Failed to create card content, ext=ErrCode: 200621; schema")
    elements = body.get("body", {}).get("elements")
    if not isinstance(elements, list) or not elements:
        raise ApiError(230099, "Failed to create card content, ext=ErrCode: 200861; no elements")
    tables = 0
    seen: set[str] = set()
    for one in walk(elements):
        name = one.get("element_id")
        if name is not None:
            if name in seen or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,19}", name):
                raise ApiError(230099, "Failed to create card content, ext=ErrCode: 300301")
            seen.add(name)
        match one.get("tag"):
            case "markdown":
                tables += len(_ROW.findall(_FENCE.sub("", one["content"])))
            case "table":
                tables += 1
            case "button":
                if not one["text"]["content"]:
                    raise ApiError(230099, "Failed to create card content; a button without words")
                for way in one.get("behaviors", []):
                    if way["type"] == "callback" and not isinstance(way["value"], dict):
                        raise ApiError(230099, "Failed to create card content; value")
            case "hr" | "column_set" | "column":
                pass
            case other:
                raise ApiError(230099, f"Failed to create card content; unsupported tag {other}")
    if tables > TABLES:
        raise ApiError(
            230099,
            "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over "
            "limit; ErrorValue: table;",
        )


def walk(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All elements of a card, also those in columns."""
    found = []
    for one in elements:
        found.append(one)
        found += walk(one.get("columns", []) + one.get("elements", []))
    return found


def words_of(message: Message, cards: dict[str, Card]) -> str:
    """What people read."""
    body = message.body
    if message.type == "text":
        return str(body["text"])
    if message.type == "post":
        lines = next(iter(body.values()))["content"]
        return "\n".join("".join(str(one.get("text", "")) for one in line) for line in lines)
    if message.type == "interactive":
        card = cards[message.card].body if message.card else body
        elements = walk(card["body"]["elements"])
        return "\n".join(one["content"] for one in elements if one.get("tag") == "markdown")
    return f"[{message.type}]"


def buttons_of(message: Message, cards: dict[str, Card]) -> list[tuple[str, Any]]:
    """Labels and values."""
    if message.type != "interactive":
        return []
    card = cards[message.card].body if message.card else message.body
    return [
        (one["text"]["content"], one["behaviors"][0]["value"])
        for one in walk(card["body"]["elements"])
        if one.get("tag") == "button" and not one.get("disabled")
    ]
