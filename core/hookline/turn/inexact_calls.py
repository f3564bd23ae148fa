"""Reads the names and arguments of tool calls that a model nearly got right."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.requests import ToolSchema

_MARK = re.compile(r"<[|｜/]?[^<>\s]*>|[`'\"()\[\]{}]")
"""Marks of the model's template, quotes and brackets around a name."""
_TEMPLATE_END = re.compile(r"(?<=\w)<[|｜/\w].*|(?<=\w)[({].*", re.DOTALL)
"""What some servers leave of the model's template after a name, or its arguments."""
_PREFIXES = re.compile(
    r"\A(?:to=)?(?:(?:functions?|tools?|tool_call|default_api|multi_tool_use)[./:])?", re.IGNORECASE
)
_NUMBER = re.compile(r"[:.]?\d*[:.,;]?\Z")
"""The number of the call in Kimi's ids, which some servers send as the name."""
_WRAPPERS = ("arguments", "parameters", "args", "params", "kwargs", "input", "tool_input")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "type", "id")
"""What else may stand beside wrapped arguments."""


def as_offered(call: ToolCall, tools: Sequence[ToolSchema]) -> ToolCall:
    """Return the call with the name of an offered tool and its arguments, where it is certain."""
    call = replace(call, name=offered_name(call.name, [tool.name for tool in tools]))
    schema = next((tool.parameters for tool in tools if tool.name == call.name), None)
    return call if schema is None else unwrapped(call, schema)


def offered_name(name: str, offered: Sequence[str]) -> str:
    """Return the offered tool that ``name`` stands for; ``name`` itself if that is not certain."""
    if name in offered:
        return name
    before = _TEMPLATE_END.sub("", name)
    texts = [_MARK.sub(" ", text).strip() for text in (before, name)]
    candidates = [one for text in texts for one in (text, _PREFIXES.sub("", text, count=1))]
    candidates += [_NUMBER.sub("", one) for one in candidates]
    # The words of a name that holds more than the tool.
    words = [_NUMBER.sub("", _PREFIXES.sub("", word, count=1)) for word in texts[-1].split()]
    for group in (candidates, words):
        exact = {one for one in group if one in offered}
        found = exact or {one for one in offered if _key(one) in map(_key, filter(_key, group))}
        if len(found) == 1:
            return found.pop()
    return name


def unwrapped(call: ToolCall, schema: Mapping[str, Any]) -> ToolCall:
    """Return the call without an object around its arguments, as ``{"arguments": {…}}``.

    Only where the tool has no argument of that name, and has all that are inside.
    """
    known = schema.get("properties")
    if not isinstance(known, Mapping):
        return call
    arguments: Mapping[str, Any] = call.arguments
    while True:
        wrappers = [key for key in arguments if key in _WRAPPERS]
        if len(wrappers) != 1 or any(key in known for key in arguments):
            return call
        if any(key not in _NAME_KEYS for key in arguments if key != wrappers[0]):
            return call
        inner = _as_object(arguments[wrappers[0]])
        if inner is None:
            return call
        if all(key in known for key in inner):
            return replace(call, arguments=inner)
        arguments = inner  # wrapped twice


def _as_object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name)).casefold()
