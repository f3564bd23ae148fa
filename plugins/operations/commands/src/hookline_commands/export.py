"""Writes a session to a file: Markdown for reading, or JSON with every stored message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from hookline_hookspecs import (
    Block,
    HooklineError,
    ImageBlock,
    Message,
    Paths,
    Session,
    TextBlock,
    ToolCall,
    ToolResultBlock,
)

MAX_RESULT_CHARS = 2_000
"""Characters of a tool's result in Markdown; JSON contains all of them."""
SPEAKERS = {"user": "You", "assistant": "Hookline"}


def export_path(paths: Paths, name: str, session: Session) -> Path:
    """Return the file to write, by default ``hookline-SESSION.md`` in the workspace.

    Raises ``HooklineError`` if it exists or must not be written.
    """
    plain = re.sub(r"[^\w.~-]", "_", session.id)
    default = f"hookline-{plain}.md"
    try:
        file = paths.resolve(name or default)
    except PermissionError as error:
        raise HooklineError(str(error)) from None
    if file.is_dir():
        file /= default
    if reason := paths.caution(str(file)):
        raise HooklineError(f"Cannot write {file}: {reason}")
    if reason := paths.write_refusal(file):
        raise HooklineError(reason)
    if file.exists():
        raise HooklineError(f"{file} already exists. Choose another: /export FILE")
    return file


def content(file: Path, session: Session, messages: Sequence[Message]) -> str:
    """Return the text of the file, in the format of its extension."""
    if file.suffix == ".jsonl":
        return "".join(_json(message.to_dict()) + "\n" for message in messages)
    if file.suffix == ".json":
        stored = [message.to_dict() for message in messages]
        about = {"id": session.id, "title": session.title, "created": session.created}
        return _json({**about, "messages": stored}, indent=2) + "\n"
    return "\n\n".join(_markdown(session, messages)) + "\n"


def write(file: Path, text: str) -> None:
    """Write a new file that only its owner can read. Raises ``OSError``."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(text, "utf-8", errors="backslashreplace")


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, indent=indent)


def _markdown(session: Session, messages: Sequence[Message]) -> Iterator[str]:
    begun = datetime.fromtimestamp(session.created).strftime("%Y-%m-%d %H:%M")
    yield f"# {session.title or f'Session {session.id}'}"
    yield f"Session `{session.id}`, started {begun}."
    speaker = ""
    for message in messages:
        results = any(isinstance(block, ToolResultBlock) for block in message.blocks)
        who = speaker if results else SPEAKERS.get(message.role, message.role)
        if who != speaker:
            yield f"## {who}"
            speaker = who
        yield from filter(None, map(_block, message.blocks))


def _block(block: Block) -> str:
    match block:
        case TextBlock(text):
            return text.strip()
        case ToolCall():
            arguments = _json(block.arguments, indent=2)
            return f"**{block.name}**\n\n{_fenced(arguments, 'json')}"
        case ToolResultBlock():
            text = block.text
            if len(text) > MAX_RESULT_CHARS:
                more = len(text) - MAX_RESULT_CHARS
                text = f"{text[:MAX_RESULT_CHARS]}\n[… {more:,} more characters]"
            return _fenced(text)
        case ImageBlock():
            return "*(an image)*"
    return ""


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
