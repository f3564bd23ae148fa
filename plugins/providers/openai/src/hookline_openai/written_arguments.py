"""Reads the arguments of a call that a model wrote as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hookline_providerkit import UnreadableArguments, read_arguments

from .json_values import as_mapping

_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


def objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects that a text holds, also in nearly JSON; none if it is other text."""
    try:
        return read_arguments(text)
    except UnreadableArguments:
        return []


def typed(given: Mapping[str, str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments written as text, read as JSON where the schema expects no string."""
    found: dict[str, Any] = {}
    for name, text in given.items():
        found[name] = text
        if not _takes_string(schema, name):
            with suppress(ValueError, RecursionError):
                found[name] = json.loads(_PYTHON_WORDS.get(text, text))
    return found


def only_argument(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return ``text`` as the argument of a tool that needs one string; None for other tools."""
    properties = as_mapping(schema.get("properties"))
    names = schema.get("required") or list(properties)
    if not isinstance(names, list) or len(names) != 1 or names[0] not in properties:
        return None
    return {names[0]: text} if text and _takes_string(schema, names[0]) else None


def _takes_string(schema: Mapping[str, Any], name: str) -> bool:
    kind = as_mapping(as_mapping(schema.get("properties")).get(name)).get("type", "string")
    return kind == "string" or (isinstance(kind, list) and "string" in kind)
