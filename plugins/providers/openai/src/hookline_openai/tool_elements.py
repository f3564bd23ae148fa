"""Reads ``<read_file><path>a.py</path></read_file>``: an element named after a tool, as Cline asks
models for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .json_values import as_mapping
from .written_arguments import objects, typed

_ATTRIBUTE = re.compile(r"(?<![\w.$-])([\w.$-]++)\s*+=\s*+(\"[^\"]*\"|'[^']*')\s*+")


def element_at(
    text: str, at: int, tools: Mapping[str, Mapping[str, Any]]
) -> tuple[str, dict[str, Any], int] | None:
    """Return tool, arguments and end of the element that begins at a place, or None."""
    start = re.compile(r"<([\w.-]+)(\s[^<>]*?)?(/?)>").match(text, at)
    if start is None or start[1] not in tools:
        return None
    name, schema = start[1], tools[start[1]]
    given = {one[1]: one[2][1:-1] for one in _ATTRIBUTE.finditer(start[2] or "")}
    if start[3]:
        return name, typed(given, schema), start.end()
    end = text.find(f"</{name}>", start.end())
    inner = written_in(text[start.end() : end], schema) if end >= 0 else None
    if inner is None:
        return None
    return name, typed(given, schema) | inner, end + len(f"</{name}>")


def written_in(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return arguments written as JSON or as one element each; None if there is anything else."""
    text = text.strip()
    if text.startswith("{"):
        return next(iter(objects(text)), None)
    names = "|".join(map(re.escape, as_mapping(schema.get("properties"))))
    one = re.compile(
        rf"<({names})>(?:[ \t]*\n)?(.*?)(?:\n[ \t]*)?</\1>\s*+(?=<(?:{names})>|\Z)", re.DOTALL
    )
    given: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = one.match(text, at) if names else None
        if found is None:
            return None
        given[found[1]], at = found[2], found.end()
    return typed(given, schema)
