"""Finds tool calls that a local model wrote as text because its server did not parse them.

Read are the notations of chat templates (:mod:`.template_calls`), JSON that names an offered tool,
as the whole answer or with a little prose around it (:mod:`.json_in_prose`), what prompts ask for
(:mod:`.prompted_calls`), and an answer that is nothing but calls in Python.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from .json_in_prose import find_json, fits_schema, may_begin_call
from .prompted_calls import find_prompted_calls, may_begin_prompted_call
from .template_calls import (
    CALL_KEYS,
    MARK,
    NAMED_CALL,
    Call,
    Tools,
    json_calls,
    json_value_at,
    marked_calls,
    offered_name,
    python_calls,
)

MAX_MARKS = 50
"""Marks in code that are passed over; more of them stand in a text about templates."""
_BEGINS_MARK = re.compile(
    r"<(?:[|｜]?[\w▁:|｜]{0,26}(?: [name]{0,4})?|\|(?:channel|start)\|>\w{0,12}(?: t?o?)?)\Z"
    r"|^(?:call:[\w.-]{0,30}|[ \t]*functools)\Z",
    re.MULTILINE,
)
"""The end of a text that may become a mark."""
_OTHER_MARKS = ("[TOOL_CALLS]", "[TOOL_REQUEST]", "functools", "call:")
_BARE_START = re.compile(r"\A\s*(?:```\w*\s*)?\[?\s*(?:print\()?(?:default_api\.|functions\.)?")
_FENCE = re.compile(r"\A\s*```[\w-]*\s*(.*?)\s*```\s*\Z", re.DOTALL)
_JSON_START = re.compile(r"\s*(?:`{1,2}\Z|```\w*\s*)?(?:\{|\[\s*(?:\{|\Z)|\Z)")
MAX_LINE_START = 500
"""Characters of a line by which it is decided whether it may begin a call."""
MAX_UNDECIDED_CHARS = 40
"""Characters after which it is clear that held text is a mark or JSON; the longest mark is half as
long."""


def find_calls(text: str, tools: Tools) -> tuple[str, list[Call]]:
    """Return the text outside of calls, and the calls of offered tools.

    A notation that names no offered tool stays text, so that an answer may explain it.

    Args:
        text: the whole content of a response.
        tools: the JSON schema of the arguments of each offered tool, by name.
    """
    head, calls = find_marked_calls(text, tools)
    if calls:
        return head, calls
    fenced = _FENCE.match(text)
    inner_text = fenced[1] if fenced else text.strip()
    calls = list(json_calls(inner_text, tools)) or _bare_calls(inner_text, tools)
    if calls and all(name in tools for name, _ in calls):
        return "", calls
    if parts := find_json(text):
        before, inner, after = parts
        calls = list(json_calls(inner, tools))
        if calls and all(
            name in tools and fits_schema(given, tools[name]) for name, given in calls
        ):
            return "\n\n".join(filter(None, [before, after])), calls
    head, calls = find_prompted_calls(text if "```" in inner_text else inner_text, tools)
    return (head, calls) if calls else (text, [])


def find_marked_calls(text: str, tools: Tools) -> tuple[str, list[Call]]:
    """Return the text before calls in a template's notation, and the calls of offered tools."""
    start = _first_mark(text)
    named = [
        (offered_name(name, tools), given) for name, given in marked_calls(text[start:], tools)
    ]
    if calls := [call for call in named if call[0] in tools]:
        return text[:start].strip(), calls
    return text, []


class HeldText:
    """Text that is shown as it comes, but for what may be the beginning of a call.

    Args:
        tools: the offered tools by name.
    """

    def __init__(self, tools: Mapping[str, Any]) -> None:
        self._tools = tools
        self._held = ""
        self._begins_line = True
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
        if shown:
            self._begins_line = not shown.rpartition("\n")[2].strip() and "\n" in shown
        self._holds_all = len(self._held) >= MAX_UNDECIDED_CHARS
        return shown

    def rest(self) -> str:
        """Return what is held, at the end of the response."""
        rest, self._held = self._held, ""
        return rest

    def _call_start(self) -> int:
        """Return where in the held text a call may begin; its length if nowhere."""
        text = self._held
        if self._is_start and (_JSON_START.match(text) or self._begins_bare_call(text)):
            return 0
        places = [
            found.start() for pattern in (MARK, _BEGINS_MARK) if (found := pattern.search(text))
        ]
        for mark in _OTHER_MARKS:
            at = text.rfind(mark[0])
            if at >= 0 and mark.startswith(text[at:]):
                places.append(at)
        lines = [at.end() for at in re.finditer("\n", text)]
        for at in ([0] if self._begins_line else []) + lines:
            line = text[at : at + MAX_LINE_START]
            if may_begin_call(line, self._tools, CALL_KEYS) or may_begin_prompted_call(
                line, self._tools
            ):
                places.append(at)
                break
        return min(places, default=len(text))

    def _begins_bare_call(self, text: str) -> bool:
        """Return whether an answer that begins so may become ``name(…)`` or ``name`` and JSON."""
        start = _BARE_START.sub("", text)
        starts = ("print(", *self._tools)
        return any(name.startswith(start) or start.startswith(name) for name in starts)


def _first_mark(text: str) -> int:
    """Return where the first mark stands outside of code; the text's length if there is none."""
    for match in itertools.islice(MARK.finditer(text), MAX_MARKS):
        before = text[: match.start()]
        line = before.rpartition("\n")[2]
        if before.count("```") % 2 == 0 and "`" not in line:
            return match.start()
    return len(text)


def _bare_calls(text: str, tools: Tools) -> list[Call]:
    """Return the calls of an answer that is nothing but ``[name(key=value)]`` or name and JSON."""
    calls = python_calls(text)
    if found := NAMED_CALL.match(text):
        value, end = json_value_at(text, found.end())
        if end == len(text) and isinstance(value, dict):
            calls = [(found[1], value)]
    calls = [(offered_name(name, tools), given) for name, given in calls]
    is_sure = all(name in tools and fits_schema(given, tools[name]) for name, given in calls)
    return calls if is_sure else []
