"""A tool's definition as its server sends it: digest, validation, and the part a model reads."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from .schema_folding import fold_schema
from .schema_keywords import valid_type

MAX_DESCRIPTION_CHARS = 2_000
"""Characters of a tool's description shown to the model."""
MAX_TOOL_CHARS = 40_000
"""Characters of a tool's definition."""
MAX_DEPTH = 40
_HEADER = '"x-mcp-header"'
MAX_NAME_CHARS = 128
"""Characters of a tool's name (MCP 2025-11-25, tools)."""


def canonical(wire: Mapping[str, Any]) -> str:
    """Return the definition as JSON with all fields, sorted keys and no spaces."""
    return json.dumps(wire, sort_keys=True, separators=(",", ":"))


def digest(wire: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(wire).encode()).hexdigest()


def find_problem(wire: Any) -> str | None:
    """Return why a tool cannot be offered, or None."""
    if not isinstance(wire, dict) or not isinstance(wire.get("name"), str):
        return "it has no name"
    if not 0 < len(wire["name"]) <= MAX_NAME_CHARS:
        return f"its name is empty or longer than {MAX_NAME_CHARS} characters"
    schema = _open_if_empty(wire.get("inputSchema"))
    if not isinstance(schema, dict) or "object" not in _types(schema):
        return "its inputSchema does not describe an object"
    if not isinstance(_open_if_empty(schema.get("properties")), dict):
        return "its inputSchema has invalid `properties`"
    required = schema.get("required") or []
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "its inputSchema has an invalid `required`"
    if not isinstance(wire.get("description") or "", str):
        return "its description is not a string"
    if _depth(wire) > MAX_DEPTH:
        return f"it is nested more than {MAX_DEPTH} levels deep"
    if len(canonical(wire)) > MAX_TOOL_CHARS:
        return f"it is larger than {MAX_TOOL_CHARS:,} characters"
    return None


def input_schema(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments; the open one if it declares none."""
    found: dict[str, Any] = _open_if_empty(wire.get("inputSchema"))
    return found


def _open_if_empty(schema: Any) -> Any:
    """Read what servers send for "no schema": null, true, or PHP's empty array."""
    return {} if schema is None or schema is True or schema == [] else schema


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types at a schema's root; without any it is an object's."""
    found = schema.get("type") or "object"
    return [valid_type(one) for one in (found if isinstance(found, list) else [found])]


def sdk_definition(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return as much of a definition as the SDK needs; it refuses a listing over any other part.

    It reads headers from the input schema (``x-mcp-header``), and would discard results that do
    not fit an ``outputSchema``.
    """
    schema = input_schema(wire)
    needed = schema if _HEADER in canonical(schema) else {}
    return {"name": wire["name"], "inputSchema": {**needed, "type": "object"}}


def _depth(value: Any) -> int:
    deepest = 0
    pending = [(value, 1)]
    while pending and deepest <= MAX_DEPTH:
        found, level = pending.pop()
        inner = found.values() if isinstance(found, dict) else found
        if isinstance(found, dict | list):
            deepest = max(deepest, level)
            pending += [(one, level + 1) for one in inner]
    return deepest


def model_schema(wire: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the description and parameters for the model, without hidden characters."""
    text = strip_hidden(str(wire.get("description") or wire.get("title") or ""))
    if len(text) > MAX_DESCRIPTION_CHARS:
        text = text[:MAX_DESCRIPTION_CHARS].rstrip() + " […]"
    folded, choices = fold_schema(input_schema(wire))
    text = f"{text.strip()}\n{choices}".strip() if choices else text
    parameters: dict[str, Any] = _strip_all(folded)
    parameters.pop("title", None)
    for name, part in parameters["properties"].items():
        if isinstance(part, dict) and _letters_and_digits(part.get("title")) == _letters_and_digits(
            name
        ):
            del part["title"]  # a library derived it from the name
    return text.strip(), parameters


def _letters_and_digits(text: object) -> str | None:
    """The letters and digits of a text; None for other values."""
    if not isinstance(text, str):
        return None
    return "".join(char for char in text.casefold() if char.isalnum())


def strip_hidden(text: str) -> str:
    """Return ``text`` without invisible characters."""
    return "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in _HIDDEN
    )


_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def has_hidden(wire: Mapping[str, Any]) -> bool:
    """True if the definition holds invisible characters."""
    text = json.dumps(wire, ensure_ascii=False).replace("\\n", "")
    return text != strip_hidden(text)


def _strip_all(value: Any) -> Any:
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, list):
        return [_strip_all(one) for one in value]
    if isinstance(value, dict):
        return {strip_hidden(name): _strip_all(one) for name, one in value.items()}
    return value
