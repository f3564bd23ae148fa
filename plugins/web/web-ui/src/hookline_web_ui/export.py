"""Exports a session as JSON Lines or Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

MAX_RESULT_CHARS = 4000
"""Characters of a tool's result in Markdown."""
SPEAKERS = {"user": "You", "assistant": "Assistant", "tool": "Assistant"}
Row = Mapping[str, Any]


def jsonl(rows: Sequence[Row]) -> str:
    """Return the stored messages in the format of ``hookline sessions export``."""
    return "".join(_line(row) for row in rows)


def _line(row: Row) -> str:
    try:
        body = json.loads(row["body"])
    except ValueError:
        stored = [{"type": "unreadable", "stored": row["body"]}]
        body = {"role": "unreadable", "blocks": stored}
    one = {"seq": row["seq"], "turn": row["turn"], **body, "created": row["created"]}
    return json.dumps(one, ensure_ascii=False) + "\n"


def markdown(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a session as Markdown, from its messages in the form of the page."""
    return "\n\n".join(_parts(session, messages)) + "\n"


def _parts(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    begun = datetime.fromtimestamp(session["created"]).strftime("%Y-%m-%d %H:%M")
    yield f"# {session['title'] or 'Session ' + session['id']}"
    yield f"Session `{session['id']}`, started {begun}."
    speaker = ""
    for message in messages:
        if (who := SPEAKERS[message["role"]]) != speaker:
            yield f"## {who}"
            speaker = who
        yield from filter(None, map(_block, message["blocks"]))
        if message.get("error"):
            yield f"> {message['error']}"


def _block(block: Mapping[str, Any]) -> str:
    match block["type"]:
        case "text":
            return str(block["text"]).strip()
        case "tool_call":
            arguments = json.dumps(block["arguments"], ensure_ascii=False, indent=2)
            return f"**{block['name']}**\n\n{_fenced(arguments, 'json')}"
        case "tool_result":
            text = str(block["text"])
            more = len(text) - MAX_RESULT_CHARS
            return _fenced(
                f"{text[:MAX_RESULT_CHARS]}\n[… {more:,} characters more]" if more > 0 else text
            )
        case "image":
            return "*(an image)*"
    return ""


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
