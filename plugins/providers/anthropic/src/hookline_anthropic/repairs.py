"""Repairs a request after a server has refused something in its history or its tools.

A repair is ``images``, or ``image:``, ``thinking:`` or ``tool:`` with what was refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hookline_providerkit import (
    LEFT_OUT_IMAGE,
    REPAIR_STATUSES,
    error_text,
    is_context_too_long,
    refused_images,
    refused_tool,
)
from hookline_providerkit.refused_items import most_images

from .encode import PLACEHOLDER, to_json

_THINKING_TYPES = ("thinking", "redacted_thinking")
_THINKING = re.compile(
    r"signature|thinking\W{0,3} block|expected .*thinking|messages[.\[]\d.*thinking", re.IGNORECASE
)


def find_repair(status: int, error: Any, body: bytes) -> str | None:
    """Return the repair for what an error names in a request; None if nothing can be repaired."""
    text = error_text(error)
    if status not in REPAIR_STATUSES or not text or is_context_too_long(error):
        return None
    request = json.loads(body)
    thoughts = [_digest(block) for block in _blocks(request) if _is_thinking(block)]
    if thoughts and _THINKING.search(text):
        return "thinking:" + ",".join(dict.fromkeys(thoughts))
    if name := refused_tool(text, error, [tool["name"] for tool in request.get("tools", ())]):
        return f"tool:{name}"
    images = [_digest(block) for block in _blocks(request) if block.get("type") == "image"]
    refused = refused_images(text) if images else ""
    if refused == "these":
        most = most_images(text)
        is_over = most is not None and len(images) > most
        kind, found = ("older", images[:-most]) if is_over and most else ("image", images)
        return f"{kind}:" + ",".join(dict.fromkeys(found))
    return "images" if refused else None


def apply_repairs(body: bytes, repairs: Collection[str]) -> bytes:
    """Return the request with every repair made."""
    if not repairs:
        return body
    request = json.loads(body)
    refused = {item for repair in repairs for item in repair.partition(":")[2].split(",")}
    tools = [tool for tool in request.get("tools", ()) if f"tool:{tool['name']}" not in repairs]
    if "tools" in request:
        request["tools"] = tools
    for message in request["messages"]:
        _repair_message(message, refused, "images" in repairs)
    if not _loop_may_think(request):
        request.pop("thinking", None)
    return to_json(request)


def _repair_message(message: dict[str, Any], refused: Collection[str], images: bool) -> None:
    message["content"] = _repaired(message["content"], refused, images)
    for block in message["content"]:
        if isinstance(block.get("content"), list):
            block["content"] = _repaired(block["content"], refused, images)


def _repaired(
    blocks: list[dict[str, Any]], refused: Collection[str], images: bool
) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for block in blocks:
        if _is_thinking(block) and _digest(block) in refused:
            continue
        if block.get("type") == "image" and (images or _digest(block) in refused):
            marker = {key: value for key, value in block.items() if key == "cache_control"}
            block = {"type": "text", "text": LEFT_OUT_IMAGE} | marker
        kept.append(block)
    return kept or [{"type": "text", "text": PLACEHOLDER}]


def _blocks(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for message in request["messages"]:
        for block in message["content"]:
            yield block
            if isinstance(block.get("content"), list):
                yield from block["content"]


def _is_thinking(block: Mapping[str, Any]) -> bool:
    return block.get("type") in _THINKING_TYPES


def _loop_may_think(request: Mapping[str, Any]) -> bool:
    """Return whether the open tool loop began with thinking, as a fixed budget requires."""
    if (request.get("thinking") or {}).get("type") != "enabled":
        return True
    assistants = [m for m in request["messages"] if m["role"] == "assistant"]
    last = assistants[-1]["content"] if assistants else []
    calls = any(block.get("type") == "tool_use" for block in last)
    return not calls or _is_thinking(last[0])


def _digest(block: Mapping[str, Any]) -> str:
    """Identify a block without its cache marker, which moves."""
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return hashlib.sha256(to_json(plain)).hexdigest()[:16]
