"""A tool as its server sends it: its digest, whether it can be offered, and what a model reads."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

LONGEST_DESCRIPTION = 2_000
"""Characters of a description that a model reads."""
LARGEST = 40_000
"""Characters of a tool's wire object."""
DEEPEST = 40
LONGEST_NAME = 128
"""Characters of a tool's name (MCP 2025-11-25, tools)."""
RENAMED = {"ctx": "ctx_"}
"""Arguments that core gives itself, by the names that they are offered under."""


def canonical(wire: Mapping[str, Any]) -> str:
    """Return the object as JSON with sorted keys and no spaces, every field of it."""
    return json.dumps(wire, sort_keys=True, separators=(",", ":"))


def digest(wire: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical object, in hexadecimal."""
    return hashlib.sha256(canonical(wire).encode()).hexdigest()


def problem(wire: Any) -> str | None:
    """Return why a tool cannot be offered, or None."""
    if not isinstance(wire, dict) or not isinstance(wire.get("name"), str):
        return "it has no name"
    if not 0 < len(wire["name"]) <= LONGEST_NAME:
        return f"its name is empty or longer than {LONGEST_NAME} characters"
    schema = wire.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its inputSchema is no schema of an object"
    required = schema.get("required", [])
    if not isinstance(schema.get("properties", {}), dict) or not isinstance(required, list):
        return "its inputSchema has wrong `properties` or `required`"
    if not all(isinstance(name, str) for name in required):
        return "its inputSchema has wrong `required`"
    if not isinstance(wire.get("description") or "", str):
        return "its description is no text"
    if _depth(wire) > DEEPEST:
        return f"it is nested more than {DEEPEST} levels deep"
    if len(canonical(wire)) > LARGEST:
        return f"it is larger than {LARGEST:,} characters"
    return None


def _depth(value: Any) -> int:
    deepest, pending = 0, [(value, 1)]
    while pending and deepest <= DEEPEST:
        found, level = pending.pop()
        inner = found.values() if isinstance(found, dict) else found
        if isinstance(found, dict | list):
            deepest = max(deepest, level)
            pending += [(one, level + 1) for one in inner]
    return deepest


def offered(wire: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the description and the parameters that a model reads, without hidden characters."""
    text = visible(str(wire.get("description") or wire.get("title") or ""))
    if len(text) > LONGEST_DESCRIPTION:
        text = text[:LONGEST_DESCRIPTION].rstrip() + " […]"
    schema = {key: value for key, value in wire["inputSchema"].items() if key != "$schema"}
    parameters: dict[str, Any] = _visible({"type": "object", "properties": {}} | schema)
    parameters.pop("title", None)
    for name, part in parameters["properties"].items():
        if isinstance(part, dict) and _plain(part.get("title")) == _plain(name):
            del part["title"]  # made from the name by a library; it says nothing more
    parameters["properties"] = {
        RENAMED.get(name, name): part for name, part in parameters["properties"].items()
    }
    if "required" in parameters:
        parameters["required"] = [RENAMED.get(name, name) for name in parameters["required"]]
    return text.strip(), parameters


def _plain(text: object) -> str | None:
    """The letters and digits of a text; None for what is none."""
    if not isinstance(text, str):
        return None
    return "".join(char for char in text.casefold() if char.isalnum())


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments under the names that the server knows."""
    back = {offered: name for name, offered in RENAMED.items()}
    return {back.get(name, name): value for name, value in arguments.items()}


def visible(text: str) -> str:
    """Return ``text`` without the characters that a person does not see."""
    return "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in _HIDDEN
    )


_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def has_hidden(wire: Mapping[str, Any]) -> bool:
    """True if the object holds characters that a person does not see."""
    text = json.dumps(wire, ensure_ascii=False).replace("\\n", "")
    return text != visible(text)


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_visible(one) for one in value]
    if isinstance(value, dict):
        return {visible(name): _visible(one) for name, one in value.items()}
    return value
