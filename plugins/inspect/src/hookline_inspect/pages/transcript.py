"""What was said in a session: as the parts of a page, and as a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from hookline_webkit import Entry, Group, Markdown, Part

from ..sessions import block_text, called, from_others

WHO = {"user": "You", "assistant": "Hookline", "system": "System", "unreadable": "Unreadable"}
RESULT = 4_000
"""Characters of a tool's result that are shown; the export holds all."""


def entries(messages: Sequence[Mapping[str, Any]]) -> Iterator[Entry]:
    """Return an entry for each message; tool calls and results fold."""
    for message in messages:
        blocks = message["blocks"]
        who = WHO.get(message["role"], message["role"])
        if blocks and all(one["type"] == "tool_result" for one in blocks):
            who = "Results"
        origins = "".join(dict.fromkeys(from_others(one) for one in blocks))
        parts = [_part(one) for one in blocks if one["type"] != "text" or one.get("text")]
        if parts:
            yield Entry(f"{who}{origins}", parts, message["created"])


def _part(block: Mapping[str, Any]) -> Part:
    if block["type"] == "text":
        return Markdown(block["text"])
    text = block_text(block)
    left_out = len(text) - RESULT
    shown = f"{text[:RESULT]}\n[… {left_out:,} characters more]" if left_out > 0 else text
    return Group(_kind(block), [Markdown(fenced(shown))], open=False)


def _kind(block: Mapping[str, Any]) -> str:
    if block["type"] == "tool_call":
        return f"Calls {block['name']}"
    if block["type"] == "tool_result":
        return "Result" if block.get("ok", True) else "Failed"
    return str(block["type"]).capitalize()


def markdown(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole session as a Markdown file."""
    return "\n\n".join(_lines(session, messages)) + "\n"


def _lines(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"# {called(session) or 'Session'}"
    begun = datetime.fromtimestamp(session["created"]).strftime("%Y-%m-%d %H:%M")
    yield f"Session `{session['id']}` on {session['channel']}:{session['chat']}, begun {begun}."
    for message in messages:
        yield f"## {WHO.get(message['role'], message['role'])}"
        for block in message["blocks"]:
            text = block_text(block)
            yield text.strip() if block["type"] == "text" else fenced(text)


def fenced(text: str) -> str:
    """Return a text as a block of code, whatever it holds."""
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 0))
    return f"{fence}\n{text.rstrip()}\n{fence}"
