"""What Slack allows in a payload, and what it answers to the rest.

Sources: docs.slack.dev, reference/block-kit (blocks and elements), reference/methods (each method's
errors and scopes), apis/web-api/rate-limits.
"""

from __future__ import annotations

import json
import re
from typing import Any

TEXT = 4_000
MARKDOWN = 12_000
SECTION = 3_000
BLOCKS = 50
BUTTONS = 25
LABEL, VALUE, ACTION_ID = 75, 2_000, 255

CHATS = {"C": "channels", "G": "groups", "D": "im", "M": "mpim"}
"""The first letter of a conversation's id, and the word for its kind in scopes and events."""
SCOPES = {
    "auth.test": (),
    "chat.postMessage": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.delete": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.appendStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "assistant.threads.setStatus": ("chat:write",),
    "conversations.open": ("im:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.completeUploadExternal": ("files:write",),
    "files.info": ("files:read",),
    "reactions.add": ("reactions:write",),
    "reactions.remove": ("reactions:write",),
    "users.info": ("users:read",),
}
"""What each method needs; those of conversations depend on the conversation."""
GRANTED = (
    *("chat:write", "app_mentions:read", "im:write", "files:read", "files:write", "commands"),
    *("reactions:read", "reactions:write", "users:read"),
    *("channels:history", "groups:history", "im:history", "mpim:history"),
    *("channels:read", "groups:read", "im:read", "mpim:read"),
)
TIERS = {
    "chat.update": 50,
    "chat.delete": 50,
    "conversations.history": 50,
    "conversations.replies": 50,
    "users.conversations": 50,
    "reactions.add": 50,
    "reactions.remove": 20,
    "files.info": 100,
    "files.getUploadURLExternal": 100,
    "files.completeUploadExternal": 100,
    "users.info": 100,
    "chat.startStream": 20,
    "chat.appendStream": 100,
    "chat.stopStream": 20,
    "apps.connections.open": 20,
}
"""Requests a minute in a workspace; chat.postMessage has a second for each message of a channel."""
PINGS = re.compile(r"<[@!#][^>]*>")
URLS = re.compile(r"https?://[^\s<>|)\"']+")


class ApiError(Exception):
    """An error response."""

    def __init__(self, error: str, status: int = 200, wait: int = 0, **more: Any) -> None:
        super().__init__(error)
        self.status, self.wait = status, wait
        self.body = {"ok": False, "error": error, **more}


def scopes_for(method: str, params: dict[str, Any]) -> tuple[str, ...]:
    """What a request needs."""
    if method in ("conversations.history", "conversations.replies"):
        return (f"{CHATS.get(str(params.get('channel'))[:1], 'channels')}:history",)
    if method == "users.conversations":
        words = {"public_channel": "channels", "private_channel": "groups", "im": "im"}
        asked = str(params.get("types") or "public_channel").split(",")
        return tuple(f"{words.get(one.strip(), 'mpim')}:read" for one in asked)
    if method not in SCOPES:
        raise ApiError("unknown_method")
    return SCOPES[method]


def checked_text(params: dict[str, Any]) -> str:
    """The text, if it is not too long."""
    text = params.get("text") or ""
    if not isinstance(text, str):
        raise ApiError("invalid_arguments")
    if len(text) > TEXT:
        raise ApiError("msg_too_long")
    return text


def checked_blocks(params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The blocks, if Slack takes them; None if there is no such field."""
    if "blocks" not in params:
        return None
    blocks = params["blocks"]
    if isinstance(blocks, str):
        try:
            blocks = json.loads(blocks)
        except ValueError:
            raise ApiError("invalid_blocks_format") from None
    if not isinstance(blocks, list):
        raise ApiError("invalid_blocks_format")
    if len(blocks) > BLOCKS:
        raise _invalid(f"no more than {BLOCKS} items allowed [json-pointer:/blocks]")
    if sum(len(one.get("text", "")) for one in blocks if one.get("type") == "markdown") > MARKDOWN:
        raise ApiError("msg_blocks_too_long")
    ids = [one["block_id"] for one in blocks if "block_id" in one]
    if len(set(ids)) != len(ids):
        raise _invalid("block_id is not unique")
    for block in blocks:
        _check_block(block)
    return blocks


def _check_block(block: Any) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "markdown":
        if not isinstance(block.get("text"), str) or not block["text"]:
            raise _invalid("must be more than 0 characters [json-pointer:/blocks/text]")
    elif kind == "section":
        _check_words(block.get("text"), SECTION, ("plain_text", "mrkdwn"))
    elif kind == "actions":
        elements = block.get("elements") or []
        if not 1 <= len(elements) <= BUTTONS:
            raise _invalid(f"no more than {BUTTONS} items allowed [json-pointer:/elements]")
        ids = [one.get("action_id") for one in elements]
        if len(set(ids)) != len(ids):
            raise _invalid("`action_id` already exists")
        for one in elements:
            _check_button(one)
    elif kind not in ("divider", "context"):
        raise _invalid(f"unsupported type: {kind}")


def _check_button(button: dict[str, Any]) -> None:
    if button.get("type") != "button":
        raise _invalid("unsupported type")
    _check_words(button.get("text"), LABEL, ("plain_text",))
    if len(button.get("value", "")) > VALUE:
        raise _invalid("must be less than 2001 characters [json-pointer:/value]")
    if not 1 <= len(button.get("action_id", "")) <= ACTION_ID:
        raise _invalid("must be less than 256 characters [json-pointer:/action_id]")
    if button.get("style", "primary") not in ("primary", "danger"):
        raise _invalid("invalid style")


def _check_words(text: Any, most: int, kinds: tuple[str, ...]) -> None:
    if not isinstance(text, dict) or text.get("type") not in kinds:
        raise _invalid("missing required field: text")
    if not 1 <= len(text.get("text", "")) <= most:
        raise _invalid(f"must be less than {most + 1} characters [json-pointer:/text]")


def _invalid(why: str) -> ApiError:
    return ApiError(
        "invalid_blocks", errors=[why], response_metadata={"messages": [f"[ERROR] {why}"]}
    )


def checked_metadata(params: dict[str, Any]) -> dict[str, Any] | None:
    """The metadata; Slack takes flat payloads."""
    metadata = params.get("metadata")
    if metadata is None:
        return None
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    payload = metadata.get("event_payload")
    if not isinstance(metadata.get("event_type"), str) or not isinstance(payload, dict):
        raise ApiError("invalid_metadata_format")
    if any(not isinstance(value, (str, int, float, bool)) for value in payload.values()):
        raise ApiError("invalid_metadata_format")
    return dict(metadata)


def words_of(message: dict[str, Any]) -> str:
    """What people read of a message: of its blocks, or of its text; with the three signs back."""
    blocks = message.get("blocks") or []
    parts = []
    for block in blocks:
        text = block.get("text")
        parts.append(text if isinstance(text, str) else (text or {}).get("text", ""))
    shown = "\n".join(part for part in parts if part) if blocks else message.get("text", "")
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def buttons_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The buttons of a message."""
    rows = [one["elements"] for one in message.get("blocks") or [] if one.get("type") == "actions"]
    return [button for row in rows for button in row]
