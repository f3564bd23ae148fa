"""Finds tool calls that a local model wrote as text because its server did not parse them.

Read are the notations of chat templates (``<tool_call>``, ``[TOOL_CALLS]``, ``<|python_tag|>``,
``<function=…>``) and an answer that is nothing but JSON naming an offered tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hookline_providerkit import UnreadableArguments, read_arguments

from .json_values import as_mapping, as_mappings, as_string

MARKS = (
    "<tool_call>",
    "<function_call>",
    "<function=",
    "<tools>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
)
"""What a call begins with, in the templates of Qwen, Hermes, GLM, Mistral and Llama."""
_TAGGED = re.compile(
    r"<(tool_call|function_call|tools)>\s*(.*?)\s*(?:</\1>|(?=<\1>)|\Z)", re.DOTALL
)
_FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter=([\w.$-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_PAIR = re.compile(
    r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL
)
_LISTED = re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>)\s*(.*)\Z", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[\w-]*\s*(.*?)\s*```\s*\Z", re.DOTALL)
_JSON_START = re.compile(r"\s*(?:`{1,2}\Z|```\w*\s*)?(?:\{|\[\s*(?:\{|\Z)|\Z)")
MAX_UNDECIDED_CHARS = 40
"""Characters after which it is clear that held text is a mark or JSON; the longest mark is half as
long."""
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")

Call = tuple[str, dict[str, Any]]


def find_calls(text: str, tools: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[Call]]:
    """Return the text outside of calls, and the calls of offered tools.

    A notation that names no offered tool stays text, so that an answer may explain it.

    Args:
        text: the whole content of a response.
        tools: the JSON schema of the arguments of each offered tool, by name.
    """
    for start in _starts(text):
        head, marked = text[:start], text[start:]
        calls = [call for call in _marked_calls(marked, tools) if call[0] in tools]
        if calls:
            return head.strip(), calls
    fenced = _FENCE.match(text)
    calls = list(_json_calls(fenced[1] if fenced else text.strip(), tools))
    if calls and all(name in tools for name, _ in calls):
        return "", calls
    return text, []


class HeldText:
    """Text that is shown as it comes, but for what may be the beginning of a call."""

    def __init__(self) -> None:
        self._held = ""
        self._is_start = True
        self._holds_all = False

    def add(self, text: str) -> str:
        """Add a piece and return what may be shown."""
        self._held += text
        if self._holds_all:
            return ""
        at = self._call_start()
        shown, self._held = self._held[:at], self._held[at:]
        self._is_start = self._is_start and not shown
        self._holds_all = len(self._held) >= MAX_UNDECIDED_CHARS
        return shown

    def rest(self) -> str:
        """Return what is held, at the end of the response."""
        rest, self._held = self._held, ""
        return rest

    def _call_start(self) -> int:
        """Return where in the held text a call may begin; its length if nowhere."""
        text = self._held
        if self._is_start and _JSON_START.match(text):
            return 0
        places = [at for mark in MARKS if (at := text.find(mark)) >= 0]
        for at in (text.rfind("<"), text.rfind("[")):
            if at >= 0 and any(mark.startswith(text[at:]) for mark in MARKS):
                places.append(at)
        return min(places, default=len(text))


def _starts(text: str) -> Iterator[int]:
    """Yield where a mark begins a line, outside of fenced code."""
    for match in re.finditer("|".join(map(re.escape, MARKS)), text):
        before = text[: match.start()]
        line = before.rpartition("\n")[2]
        if before.count("```") % 2 == 0 and "`" not in line:
            yield match.start()


def _marked_calls(text: str, tools: Mapping[str, Mapping[str, Any]]) -> Iterator[Call]:
    if listed := _LISTED.match(text):
        yield from _json_calls(listed[1], tools)
        return
    if text.startswith("<function="):
        yield from _function_calls(text, tools)
        return
    for tagged in _TAGGED.finditer(text):
        inner = tagged[2]
        if "<function=" in inner:
            yield from _function_calls(inner, tools)
        elif "<arg_key>" in inner:
            name = inner.partition("<arg_key>")[0].strip()
            given = {pair[1]: pair[2] for pair in _PAIR.finditer(inner)}
            yield name, _typed(given, tools.get(name, {}))
        else:
            yield from _json_calls(inner, tools)


def _function_calls(text: str, tools: Mapping[str, Mapping[str, Any]]) -> Iterator[Call]:
    for function in _FUNCTION.finditer(text):
        name, inner = function[1], function[2]
        if inner.startswith("{"):
            yield from ((name, arguments) for arguments in _objects(inner))
        else:
            given = {found[1]: found[2] for found in _PARAMETER.finditer(inner)}
            yield name, _typed(given, tools.get(name, {}))


def _typed(given: Mapping[str, str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments written as text, read as JSON where the schema expects no string."""
    properties = as_mapping(schema.get("properties"))
    typed: dict[str, Any] = {}
    for name, text in given.items():
        typed[name] = text
        if as_mapping(properties.get(name)).get("type", "string") != "string":
            try:
                typed[name] = json.loads(text)
            except (ValueError, RecursionError):
                continue
    return typed


def _json_calls(text: str, tools: Mapping[str, Mapping[str, Any]]) -> Iterator[Call]:
    """Yield the calls in JSON: an object, several, or a list of them."""
    if not text.startswith(("{", "[")):
        return
    try:
        listed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        listed = None
    objects = as_mappings(listed) if isinstance(listed, list) else _objects(text)
    for found in objects:
        for one in as_mappings(found.get("tool_calls")) or [found]:
            if call := _call(one, tools):
                yield call


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        return read_arguments(text)
    except UnreadableArguments:
        return []


def _call(found: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Call | None:
    """Return the call that an object stands for; None if it is something else."""
    function = found.get("function")
    if isinstance(function, dict):
        return _call(function, tools)
    name_key = next((key for key in _NAME_KEYS if as_string(found.get(key))), "")
    key = next((key for key in _ARGUMENT_KEYS if key in found), "")
    name, given = as_string(found.get(name_key)), found.get(key)
    if isinstance(given, str):
        given = next(iter(_objects(given)), None)
    if not key and len(found) == 1 and not tools.get(name, {}).get("required"):
        given = {}
    return (name, given) if name and isinstance(given, dict) else None
