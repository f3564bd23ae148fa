"""Renders the messages of a session, for a page and as a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hookline_hookspecs import origins_from_json
from hookline_hookspecs.stored_origins import strangers
from hookline_hookspecs.web import N_, Group, Markdown, Part, TranscriptEntry, named_origins, t

from ..sessions import block_text, session_name, shown_blocks

SPEAKERS = {
    "user": N_("You"),
    "assistant": "Hookline",
    "system": N_("System"),
    "unreadable": N_("Unreadable"),
}
MAX_RESULT_CHARS = 4_000
"""Characters of a tool's result on the page; the export has all."""


def entries(messages: Sequence[Mapping[str, Any]]) -> Iterator[TranscriptEntry]:
    """Yield an entry for each change of speaker; tool calls and results are collapsed."""
    names: dict[str, str] = {}
    entry: TranscriptEntry | None = None
    for message in messages:
        blocks = message["blocks"]
        results = bool(blocks) and all(block["type"] == "tool_result" for block in blocks)
        names |= {
            block.get("id", ""): block["name"] for block in blocks if block["type"] == "tool_call"
        }
        parts = [
            _part(block, names) for block in blocks if block["type"] != "text" or block.get("text")
        ]
        origins = "".join(dict.fromkeys(_from_others(block) for block in blocks))
        who = f"{t(SPEAKERS.get(message['role'], message['role']))}{origins}"
        if entry is not None and (results or entry.who == who == SPEAKERS["assistant"]):
            entry = replace(entry, parts=[*entry.parts, *parts])
            continue
        if entry is not None and entry.parts:
            yield entry
        entry = TranscriptEntry(t("Results") if results else who, parts, message["created"])
    if entry is not None and entry.parts:
        yield entry


def _part(block: Mapping[str, Any], names: Mapping[str, str]) -> Part:
    if block["type"] == "text":
        return Markdown(block["text"])
    text = block_text(block)
    left_out = len(text) - MAX_RESULT_CHARS
    shown = text
    if left_out > 0:
        shown = f"{text[:MAX_RESULT_CHARS]}\n{t('[… {n} more characters]', n=left_out)}"
    return Group(_title(block, names), [Markdown(fenced(shown))], open=False)


def _title(block: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if block["type"] == "tool_call":
        return t("Call: {name}", name=block["name"])
    if block["type"] == "tool_result":
        name = names.get(block.get("call_id", ""), "?")
        is_ok = block.get("ok", True)
        text = t("Result: {name}", name=name) if is_ok else t("Failed: {name}", name=name)
        return text + _from_others(block)
    return str(block["type"]).capitalize()


def _from_others(block: Mapping[str, Any]) -> str:
    """Who wrote a block, if it was not the operator or the agent, to stand behind its title."""
    try:
        others = strangers(origins_from_json(block.get("origins")))
    except (ValueError, TypeError):
        return f" · {t('origin unreadable')}"
    return f" · {t('from {names}', names=named_origins(others))}" if others else ""


def markdown(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole session as a Markdown file."""
    return "\n\n".join(_lines(session, messages)) + "\n"


def _lines(session: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"# {session_name(session) or 'Session'}"
    begun = datetime.fromtimestamp(session["created"]).strftime("%Y-%m-%d %H:%M")
    yield f"Session `{session['id']}` on {session['channel']}:{session['chat']}, started {begun}."
    for message in messages:
        yield f"## {SPEAKERS.get(message['role'], message['role'])}"
        for block in shown_blocks(message):
            text = block_text(block)
            yield text.strip() if block["type"] == "text" else fenced(text)


def fenced(text: str) -> str:
    """Return a text as a Markdown code block, whatever it contains."""
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 0))
    return f"{fence}\n{text.rstrip()}\n{fence}"
