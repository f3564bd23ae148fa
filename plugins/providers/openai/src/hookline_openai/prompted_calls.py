"""Finds calls in notations that prompts ask for: ReAct, and elements named after a tool.

Nothing marks them but the name of an offered tool, so a call counts only if it begins a line
outside of code, its arguments fit the tool's schema, and the prose does not call it an example.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from .json_in_prose import MAX_CHARS_AFTER, fits_schema, is_about_examples
from .template_calls import Call, Tools, json_calls, offered_name, python_calls
from .tool_elements import element_at
from .written_arguments import objects, only_argument

MAX_PLACES = 50
"""Places of an answer at which a call is looked for."""
_ACTION = re.compile(
    r"^[ \t]*\**(?:Action|✿FUNCTION✿)\**[ \t]*:\**[ \t]*(?!.{0,99}\bInput\b)",
    re.IGNORECASE | re.MULTILINE,
)
_NAME_AND_INPUT = re.compile(
    r"\s*+`?([\w.-]+)`?[ \t]*+\n\s*+\**(?:Action[ _]Input|✿ARGS✿)\**[ \t]*:\**", re.IGNORECASE
)
_ACTION_END = re.compile(
    r"^[ \t]*\**(?:Observation|Thought|Final Answer|Action|✿\w+✿)\**[ \t]*:"
    r"|^[ \t]*✿|</s>|<\|\w+\|>|\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""What follows a call. An observation that the model wrote itself is invented."""
_FENCE_BEGIN = re.compile(r"```[\w-]*")
_ELEMENT = re.compile(r"^[ \t]*(?=<[\w.-]+[\s/>])", re.MULTILINE)
_SPACE = re.compile(r"\s*")


def find_prompted_calls(text: str, tools: Tools) -> tuple[str, list[Call]]:
    """Return the text outside of calls, and the calls of offered tools."""
    for find in (_find_action, _find_elements):
        before, calls, after = find(text, tools)
        is_sure = all(name in tools and fits_schema(given, tools[name]) for name, given in calls)
        if calls and is_sure and not is_about_examples(f"{before}\n{after}"):
            return "\n\n".join(filter(None, [before.strip(), after.strip()])), calls
    return text, []


def may_begin_prompted_call(text: str, tools: Mapping[str, Any]) -> bool:
    """Return whether ``text``, which begins a line, may become such a call."""
    start = re.sub(r"\A\s*(?:```[\w-]*\s*)?\**", "", text)
    if start.startswith("<"):
        name = re.match(r"<([\w.-]*)", start)
        assert name is not None
        is_open = name.end() == len(start)
        return name[1] in tools or (is_open and any(tool.startswith(name[1]) for tool in tools))
    for word in ("Action", "✿FUNCTION✿"):
        if start and word.casefold().startswith(start.casefold()):
            return True
        if found := re.match(rf"{word}\**[ \t]*(:?)\**\s*`*", start, re.IGNORECASE):
            rest = start[found.end() :]
            return not rest or bool(found[1] and (rest[0] in "{[" or _names_tool(rest, tools)))
    return False


def _names_tool(text: str, tools: Mapping[str, Any]) -> bool:
    name = re.sub(r"\Ajson\s*", "", text)
    return any(tool.startswith(name) or name.startswith(tool) for tool in tools)


def _find_action(text: str, tools: Tools) -> tuple[str, list[Call], str]:
    for found in itertools.islice(_ACTION.finditer(text), MAX_PLACES):
        if _is_in_code(text, found.start()):
            continue
        if named := _NAME_AND_INPUT.match(text, found.end()):
            name = offered_name(named[1], tools)
            given = _without_fence(text[named.end() : _action_end(text, named.end())])
            if name in tools and (arguments := _arguments(given, tools[name])) is not None:
                return text[: found.start()], [(name, arguments)], ""
        else:
            written = _without_fence(text[found.end() : _action_end(text, found.end())])
            calls = list(json_calls(written, tools)) or python_calls(written)
            if calls:
                named_calls = [(offered_name(name, tools), given) for name, given in calls]
                return text[: found.start()], named_calls, ""
    return text, [], ""


def _action_end(text: str, at: int) -> int:
    return _ACTION_END.search(text, at).start()  # type: ignore[union-attr]  # it always matches


def _without_fence(text: str) -> str:
    text = text.strip()
    begin = _FENCE_BEGIN.match(text)
    return text[begin.end() :].removesuffix("```").strip() if begin else text


def _arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments written behind ``Action Input:``."""
    if text.startswith("{"):
        return next(iter(objects(text)), None)
    if not text or text.casefold() in ("none", "null", "n/a"):
        return {}
    return only_argument(text.strip("\"'"), schema)


def _find_elements(text: str, tools: Tools) -> tuple[str, list[Call], str]:
    at = 0
    for found in itertools.islice(_ELEMENT.finditer(text), MAX_PLACES):
        if found.end() < at or _is_in_code(text, found.end()):
            continue
        at = found.end()
        calls: list[Call] = []
        while element := element_at(text, at, tools):
            calls.append(element[:2])
            at = _SPACE.match(text, element[2]).end()  # type: ignore[union-attr]  # it always matches
        after = text[at:]
        if calls and len(after) <= MAX_CHARS_AFTER:
            return text[: found.start()], calls, after
    return text, [], ""


def _is_in_code(text: str, at: int) -> bool:
    return text.count("```", 0, at) % 2 == 1
