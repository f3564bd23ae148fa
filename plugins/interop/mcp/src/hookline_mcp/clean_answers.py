"""Leaves out parts of a server's answers that violate the protocol.

The SDK would refuse the whole answer because of one, and with it a server or its list. These work
on raw results of any method.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("name", "uri"),
    "resource": (),
}
"""Types of content, and the texts that each must have (MCP 2025-11-25, tools)."""
_LISTS = {
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
"""The lists besides that of tools, and their methods."""


def clean_handshake(result: dict[str, Any]) -> None:
    """Read capabilities as the flags that they are, and a server without name or version."""
    if "protocolVersion" not in result:
        return
    found = result.get("capabilities")
    result["capabilities"] = {
        name: value if isinstance(value, dict) else {}
        for name, value in (found.items() if isinstance(found, dict) else ())
        if value is not None and value is not False
    }
    known = result.get("serverInfo")
    info = known if isinstance(known, dict) else {}
    fields = {"name": "unnamed", "version": ""} | {
        name: str(info[name]) for name in ("name", "version", "title") if info.get(name) is not None
    }
    result["serverInfo"] = fields
    if not isinstance(result.get("instructions"), str):
        result.pop("instructions", None)


def clean_lists(result: dict[str, Any]) -> None:
    """Leave out invalid prompts and resources, and a cursor that is none."""
    for key, method in _LISTS.items():
        if key in result:
            found = result[key] if isinstance(result[key], list) else []
            result[key] = [one for one in found if is_valid(method, {key: [one]})]
    if not isinstance(result.get("nextCursor", ""), str):
        del result["nextCursor"]


def is_valid(method: str, result: dict[str, Any]) -> bool:
    """Return whether the SDK takes a result of a method."""
    try:
        validate_server_result(method, LATEST_HANDSHAKE_VERSION, result)
    except ValueError:
        return False
    return True


def clean_result(result: dict[str, Any]) -> None:
    """Replace parts of a result that are of an unknown type or incomplete: of a tool's, a
    prompt's or a resource's."""
    if "_meta" in result and not isinstance(result["_meta"], dict):
        del result["_meta"]
    if "content" in result:
        result["content"] = [_clean_part(one) for one in _as_list(result["content"])]
    _clean_structured(result)
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = bool(result["isError"])
    for message in found if isinstance(found := result.get("messages"), list) else ():
        if isinstance(message, dict) and "content" in message:
            message["content"] = _clean_part(message["content"])
    if isinstance(contents := result.get("contents"), list):
        result["contents"] = [_clean_contents(one) for one in contents if _is_complete(one)]


def _as_list(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _clean_structured(result: dict[str, Any]) -> None:
    """Write structured content that is not an object as text, unless there is text."""
    value = result.get("structuredContent", {})
    if not isinstance(value, dict):
        del result["structuredContent"]
        if value is not None and not result.get("content"):
            text = json.dumps(value, ensure_ascii=False)
            result["content"] = [{"type": "text", "text": text}]
    elif "structuredContent" in result:
        result.setdefault("content", [])


def _clean_part(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        return _note(f"unknown type {str(kind)[:60]}")
    if missing := [name for name in _FIELDS[kind] if not isinstance(part.get(name), str)]:
        return _note(f"{kind} without {missing[0]}")
    if kind != "resource":
        return {"type": kind, **{name: part[name] for name in _FIELDS[kind]}}
    held = part.get("resource")
    if not isinstance(held, dict) or not isinstance(held.get("uri"), str):
        return _note("resource without uri")
    if not _is_complete(held):
        return _note(f"resource {held['uri'][:200]} without text")
    return {"type": kind, "resource": _clean_contents(held)}


def _is_complete(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("uri"), str):
        return False
    return any(isinstance(part.get(name), str) for name in ("text", "blob"))


def _clean_contents(part: dict[str, Any]) -> dict[str, Any]:
    """Keep what is read of a resource's contents."""
    names = ("uri", "mimeType", "text" if isinstance(part.get("text"), str) else "blob")
    return {name: part[name] for name in names if isinstance(part.get(name), str)}


def _note(reason: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[part left out: {reason}]"}
