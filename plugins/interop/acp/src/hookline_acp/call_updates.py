"""Converts tool calls and results to updates for the editor: titles, diffs, plans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from acp import schema
from hookline_hookspecs import ImageBlock, ToolCall, ToolResult
from hookline_hookspecs.visible_text import (
    code_block,
    code_span,
    on_one_line,
    spell_out,
    spell_out_prose,
)

Kind: TypeAlias = Literal["read", "edit", "search", "execute", "think", "fetch", "other"]
TOOL_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("read_file", "list_dir", "fetch_artifact", "skill_view"), "read"),
    **dict.fromkeys(("write_file", "edit_file"), "edit"),
    **dict.fromkeys(("glob", "grep", "session_search", "web_search", "mcp_find"), "search"),
    **dict.fromkeys(("web_fetch", "browser_read"), "fetch"),
    **dict.fromkeys(("bash", "browser"), "execute"),
    "delegate": "think",
}
VERBS = {"read_file": "Read", "write_file": "Write", "edit_file": "Edit", "list_dir": "List"}
PLAN = "plan"
"""The tool whose calls are shown as the editor's plan."""
PLAN_STATES: dict[str, schema.PlanEntryStatus] = {
    "open": "pending",
    "doing": "in_progress",
    "done": "completed",
}
MAX_TITLE_CHARS = 200
MAX_RESULT_CHARS = 60_000
"""Characters of a result sent to the editor."""
MAX_INPUT_CHARS = 20_000
"""Characters of arguments, as JSON, sent to the editor."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@")
_DIFF_ARGUMENTS = frozenset({"content", "old_string", "new_string"})

Content: TypeAlias = "schema.ContentToolCallContent | schema.FileEditToolCallContent"


def start_update(call_id: str, call: ToolCall, workspace: Path) -> schema.ToolCallStart:
    """Return the update for a call that the model requested."""
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=title(call),
        kind=TOOL_KINDS.get(call.name, "other"),
        status="pending",
        locations=locations(call, workspace),
        raw_input=raw_input(call),
    )


def status_update(call_id: str, status: schema.ToolCallStatus) -> schema.ToolCallProgress:
    """Return the update for a call's new status."""
    return schema.ToolCallProgress(
        session_update="tool_call_update", tool_call_id=call_id, status=status
    )


def result_update(call_id: str, result: ToolResult, workspace: Path) -> schema.ToolCallProgress:
    """Return the update for a call's result: its changes as diffs, else its text, and images."""
    shown = diffs(result, workspace) if result.ok else []
    text = spell_out_prose(result.shown or result.text)
    content: list[Any] = list(shown) or (
        [text_content(fence_text(text, result.ok))] if text else []
    )
    content += [image_content(one) for one in result.images]
    update = status_update(call_id, "completed" if result.ok else "failed")
    update.content = content
    return update


def title(call: ToolCall) -> str:
    """Return what a call does, on one line."""
    arguments = call.arguments
    command = arguments.get("command")
    path = arguments.get("path")
    if call.name == "bash" and isinstance(command, str):
        return code_span(_title_line(command))
    if call.name in VERBS and isinstance(path, str):
        return f"{VERBS[call.name]} {code_span(_title_line(path))}"
    values = [_value(value) for name, value in arguments.items() if name not in _DIFF_ARGUMENTS]
    return f"{call.name} {code_span(_title_line(', '.join(values)))}".rstrip()


def _title_line(text: str) -> str:
    return on_one_line(text, MAX_TITLE_CHARS)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def locations(call: ToolCall, workspace: Path) -> list[schema.ToolCallLocation] | None:
    """Return the file that a call reads or writes, so that the editor can show it."""
    path = call.arguments.get("path")
    line = call.arguments.get("start_line")
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    known = line if type(line) is int and line > 0 else None
    return [schema.ToolCallLocation(path=absolute(path, workspace), line=known)]


def absolute(path: str, workspace: Path) -> str:
    """Return the absolute path of a path in a call."""
    return str(workspace / path)


def raw_input(call: ToolCall) -> Any:
    """Return the arguments, spelled out, without the texts that a diff shows.

    None if they are too long.
    """
    plain = _spell_out(call.arguments)
    if call.name in ("write_file", "edit_file"):
        plain = {name: value for name, value in plain.items() if name not in _DIFF_ARGUMENTS}
    if len(json.dumps(plain, default=str)) > MAX_INPUT_CHARS:
        return None
    return plain


def _spell_out(value: Any) -> Any:
    if isinstance(value, str):
        return spell_out(value)
    if isinstance(value, Mapping):
        return {spell_out(str(name)): _spell_out(one) for name, one in value.items()}
    return [_spell_out(one) for one in value] if isinstance(value, list | tuple) else value


def text_content(text: str) -> schema.ContentToolCallContent:
    """Return a text for a call, cut in the middle if it is too long."""
    if len(text) > MAX_RESULT_CHARS:
        half = MAX_RESULT_CHARS // 2
        left = len(text) - 2 * half
        text = f"{text[:half]}\n[… {left:,} characters left out …]\n{text[-half:]}"
    block = schema.TextContentBlock(type="text", text=text)
    return schema.ContentToolCallContent(type="content", content=block)


def image_content(image: ImageBlock) -> schema.ContentToolCallContent:
    """Return an image for a call."""
    block = schema.ImageContentBlock(type="image", data=image.data, mime_type=image.mime)
    return schema.ContentToolCallContent(type="content", content=block)


def fence_text(text: str, is_ok: bool = True) -> str:
    """Return ``text`` in a Markdown code fence; a one-line error stays as it is."""
    if not is_ok and "\n" not in text:
        return text
    return code_block(text)


def diff(path: str, before: str | None, after: str) -> schema.FileEditToolCallContent:
    """Return a change of a file, spelled out; ``before`` is None for a new file."""
    old_text = None if before is None else spell_out(before)
    return schema.FileEditToolCallContent(
        type="diff", path=path, old_text=old_text, new_text=spell_out(after)
    )


def diffs(result: ToolResult, workspace: Path) -> list[schema.FileEditToolCallContent]:
    """Return one diff for each hunk of the unified diff that a tool returned as ``data``."""
    data = result.data if isinstance(result.data, Mapping) else {}
    unified = data.get("diff")
    path = data.get("path")
    if not isinstance(unified, str) or not isinstance(path, str):
        return []
    place = absolute(path, workspace)
    whole = result.call.arguments.get("content")
    found = [diff(place, before, after) for before, after in hunks(unified)]
    if isinstance(whole, str) and len(found) == 1 and found[0].old_text is None:
        found[0].new_text = spell_out(whole)
    return found


def hunks(unified: str) -> Iterator[tuple[str | None, str]]:
    """Yield the old and the new text of each hunk of a unified diff; None for no old file."""
    old: list[str] = []
    new: list[str] = []
    begun = is_new = False

    def both() -> tuple[str | None, str]:
        return None if is_new else "\n".join(old), "\n".join(new)

    for line in unified.split("\n"):
        if hunk := _HUNK.match(line):
            if begun:
                yield both()
            begun = True
            is_new = hunk[1] == "0" and hunk[2] == "0"
            old = []
            new = []
        elif begun and line[:1] in ("+", "-", " "):
            if line[0] != "+":
                old.append(line[1:])
            if line[0] != "-":
                new.append(line[1:])
    if begun:
        yield both()


def diffs_from_arguments(call: ToolCall, workspace: Path) -> list[schema.FileEditToolCallContent]:
    """Return the change described by a call's arguments, for a stored call without a diff."""
    arguments = call.arguments
    path = arguments.get("path")
    content = arguments.get("content")
    old = arguments.get("old_string")
    new = arguments.get("new_string")
    if not isinstance(path, str):
        return []
    if call.name == "write_file" and isinstance(content, str):
        return [diff(absolute(path, workspace), None, content)]
    if call.name == "edit_file" and isinstance(old, str) and isinstance(new, str):
        return [diff(absolute(path, workspace), old, new)]
    return []


def plan_update(call: ToolCall) -> schema.AgentPlanUpdate | None:
    """Return the plan of a valid call of the tool ``plan``; None for other calls."""
    steps = call.arguments.get("steps")
    if call.name != PLAN or call.error or not isinstance(steps, Sequence):
        return None
    entries = [entry for one in steps if (entry := _entry(one)) is not None]
    if len(entries) != len(steps):
        return None
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


def _entry(step: Any) -> schema.PlanEntry | None:
    if not isinstance(step, Mapping) or not isinstance(step.get("text"), str):
        return None
    status = PLAN_STATES.get(str(step.get("state", "open")))
    if status is None:
        return None
    return schema.PlanEntry(content=spell_out(step["text"]), priority="medium", status=status)
