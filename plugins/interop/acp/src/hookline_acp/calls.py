"""Tool calls as an editor shows them: titles, kinds, places, diffs and plans.

Imported when the agent serves, because of the SDK.
"""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from acp import schema
from hookline_hookspecs import ImageBlock, ToolCall, ToolResult

Kind: TypeAlias = Literal["read", "edit", "search", "execute", "think", "fetch", "other"]
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("read_file", "list_dir", "fetch_artifact", "skill_view"), "read"),
    **dict.fromkeys(("write_file", "edit_file"), "edit"),
    **dict.fromkeys(("glob", "grep", "session_search", "web_search", "mcp_find"), "search"),
    **dict.fromkeys(("web_fetch", "browser_read"), "fetch"),
    **dict.fromkeys(("bash", "browser"), "execute"),
    "delegate": "think",
}
VERBS = {"read_file": "Read", "write_file": "Write", "edit_file": "Edit", "list_dir": "List"}
PLAN = "plan"
"""The tool whose calls are the plan itself (CONTRACT, Interoperability)."""
STATES: dict[str, schema.PlanEntryStatus] = {
    "open": "pending",
    "doing": "in_progress",
    "done": "completed",
}
LONGEST_TITLE = 200
LONGEST_TEXT = 60_000
"""Characters of a result that an editor is sent."""
LONGEST_INPUT = 20_000
"""Characters of arguments, as JSON, that an editor is sent beside the title."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that show nothing or change what is shown around them."""
_SAID_ALREADY = frozenset({"content", "old_string", "new_string"})

Content: TypeAlias = "schema.ContentToolCallContent | schema.FileEditToolCallContent"


def started(
    call_id: str, call: ToolCall, workspace: Path, status: schema.ToolCallStatus = "pending"
) -> schema.ToolCallStart:
    """A call that the model has asked for."""
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=title(call),
        kind=KINDS.get(call.name, "other"),
        status=status,
        locations=places(call, workspace),
        raw_input=raw_input(call),
    )


def progress(call_id: str, status: schema.ToolCallStatus) -> schema.ToolCallProgress:
    """A call in another state."""
    return schema.ToolCallProgress(
        session_update="tool_call_update", tool_call_id=call_id, status=status
    )


def finished(call_id: str, result: ToolResult, workspace: Path) -> schema.ToolCallProgress:
    """A call with its result: what it changed as a diff, else its text and pictures."""
    shown = diffs(result, workspace) if result.ok else []
    text = result.shown or result.text
    content: list[Any] = list(shown) or ([text_content(fenced(text, result.ok))] if text else [])
    content += [image_content(one) for one in result.images]
    update = progress(call_id, "completed" if result.ok else "failed")
    update.content = content
    return update


def title(call: ToolCall) -> str:
    """What a call does, on one line."""
    arguments = call.arguments
    command, path = arguments.get("command"), arguments.get("path")
    if call.name == "bash" and isinstance(command, str):
        return _code(_line(command))
    if call.name in VERBS and isinstance(path, str):
        return f"{VERBS[call.name]} {_code(_line(path))}"
    values = [_value(value) for name, value in arguments.items() if name not in _SAID_ALREADY]
    return f"{call.name} {_code(_line(', '.join(values)))}".rstrip()


def _code(text: str) -> str:
    """A text whose characters stay as they are: editors read titles as Markdown."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`" if text else ""


def spelt(text: str) -> str:
    """``text`` with whatever cannot be seen, or changes what is around it, spelt out."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _HIDDEN
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _line(text: str) -> str:
    line = spelt(" ".join(text[:LONGEST_INPUT].split()))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def places(call: ToolCall, workspace: Path) -> list[schema.ToolCallLocation] | None:
    """The file that a call is about, so that the editor can follow."""
    path, line = call.arguments.get("path"), call.arguments.get("start_line")
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    known = line if type(line) is int and line > 0 else None
    return [schema.ToolCallLocation(path=absolute(path, workspace), line=known)]


def absolute(path: str, workspace: Path) -> str:
    """A path that a model wrote, as the editor knows the file."""
    return str(workspace / path)


def raw_input(call: ToolCall) -> Any:
    """The arguments, without the texts that a diff shows."""
    plain = copy.deepcopy(call.arguments)
    if call.name in ("write_file", "edit_file"):
        plain = {name: value for name, value in plain.items() if name not in _SAID_ALREADY}
    if len(json.dumps(plain, default=str)) > LONGEST_INPUT:
        return None
    return plain


# Content


def text_content(text: str) -> schema.ContentToolCallContent:
    """A text below a call."""
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2
        left = len(text) - 2 * half
        text = f"{text[:half]}\n[… {left:,} characters left out …]\n{text[-half:]}"
    block = schema.TextContentBlock(type="text", text=text)
    return schema.ContentToolCallContent(type="content", content=block)


def image_content(image: ImageBlock) -> schema.ContentToolCallContent:
    """A picture below a call."""
    block = schema.ImageContentBlock(type="image", data=image.data, mime_type=image.mime)
    return schema.ContentToolCallContent(type="content", content=block)


def fenced(text: str, is_ok: bool = True) -> str:
    """A text whose characters and lines stay as they are in Markdown; a sentence as it is."""
    if not is_ok and "\n" not in text:
        return text
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def diff(path: str, before: str | None, after: str) -> schema.FileEditToolCallContent:
    """A change of a file; ``before`` is None for a new one."""
    return schema.FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=after)


def diffs(result: ToolResult, workspace: Path) -> list[schema.FileEditToolCallContent]:
    """What a tool changed, one part for each place of the file; from the unified diff that a tool
    returns as ``data``."""
    data = result.data if isinstance(result.data, Mapping) else {}
    unified, path = data.get("diff"), data.get("path")
    if not isinstance(unified, str) or not isinstance(path, str):
        return []
    place, whole = absolute(path, workspace), result.call.arguments.get("content")
    found = [diff(place, before, after) for before, after in hunks(unified)]
    if isinstance(whole, str) and len(found) == 1 and found[0].old_text is None:
        found[0].new_text = whole
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
            begun, is_new = True, hunk[1] == "0" and hunk[2] == "0"
            old, new = [], []
        elif begun and line[:1] in ("+", "-", " "):
            if line[0] != "+":
                old.append(line[1:])
            if line[0] != "-":
                new.append(line[1:])
    if begun:
        yield both()


def told(call: ToolCall, workspace: Path) -> list[schema.FileEditToolCallContent]:
    """The change that the arguments of a call tell of, for a call that is long over."""
    arguments = call.arguments
    path, content = arguments.get("path"), arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(path, str):
        return []
    if call.name == "write_file" and isinstance(content, str):
        return [diff(absolute(path, workspace), None, content)]
    if call.name == "edit_file" and isinstance(old, str) and isinstance(new, str):
        return [diff(absolute(path, workspace), old, new)]
    return []


# Plans


def plan_of(call: ToolCall) -> schema.AgentPlanUpdate | None:
    """The plan that a call of the tool ``plan`` sets; None if it is none."""
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
    status = STATES.get(str(step.get("state", "open")))
    if status is None:
        return None
    return schema.PlanEntry(content=step["text"], priority="medium", status=status)
