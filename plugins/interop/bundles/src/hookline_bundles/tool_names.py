"""Tool names and arguments, between Hookline and Claude Code, whose names other agents use too.

Tools of MCP servers (``mcp__SERVER__TOOL``) have the same names in both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_STATES = {"open": "pending", "doing": "in_progress", "done": "completed"}
Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A tool's name in both, and the names of its arguments: Hookline's to Claude Code's."""

    own: str
    other: str
    arguments: Mapping[str, str]
    to_other: Callable[[dict[str, Any], Arguments], None] = field(default=lambda _new, _old: None)
    to_own: Callable[[dict[str, Any], Arguments], None] = field(default=lambda _new, _old: None)


def _bash_to_other(new: dict[str, Any], old: Arguments) -> None:
    if isinstance(timeout := old.get("timeout"), int | float):
        new["timeout"] = int(timeout * 1000)
    if reason := old.get("reason"):
        new["description"] = reason


def _bash_to_own(new: dict[str, Any], old: Arguments) -> None:
    if isinstance(timeout := old.get("timeout"), int | float):
        new["timeout"] = max(1, int(timeout / 1000))


def _read_to_other(new: dict[str, Any], old: Arguments) -> None:
    start, end = old.get("start_line"), old.get("end_line")
    if isinstance(start, int):
        new["offset"] = start
    if isinstance(end, int):
        new["limit"] = end - (start if isinstance(start, int) else 1) + 1


def _read_to_own(new: dict[str, Any], old: Arguments) -> None:
    start, limit = old.get("offset"), old.get("limit")
    if isinstance(start, int) and start > 0:
        new["start_line"] = start
    if isinstance(limit, int):
        new["end_line"] = new.get("start_line", 1) + limit - 1


def _plan_to_other(new: dict[str, Any], old: Arguments) -> None:
    steps = [step for step in old.get("steps") or () if isinstance(step, Mapping)]
    new["todos"] = [
        {"content": step.get("text", ""), "status": _STATES.get(str(step.get("state")), "pending")}
        for step in steps
    ]


def _plan_to_own(new: dict[str, Any], old: Arguments) -> None:
    states = {other: own for own, other in _STATES.items()}
    todos = [todo for todo in old.get("todos") or () if isinstance(todo, Mapping)]
    new["steps"] = [
        {"text": todo.get("content", ""), "state": states.get(str(todo.get("status")), "open")}
        for todo in todos
    ]


def _task_to_other(new: dict[str, Any], old: Arguments) -> None:
    parts = [str(old[name]) for name in ("task", "context") if old.get(name)]
    new["prompt"] = "\n\n".join(parts)
    new["description"] = str(old.get("task", "")).split("\n")[0][:80]
    new["subagent_type"] = old.get("agent") or "general-purpose"


def _task_to_own(new: dict[str, Any], old: Arguments) -> None:
    agent = old.get("subagent_type")
    if agent and agent != "general-purpose":
        new["agent"] = agent


_PATH = {"path": "file_path"}
_TOOLS = (
    _Pair("bash", "Bash", {"command": "command"}, _bash_to_other, _bash_to_own),
    _Pair("read_file", "Read", _PATH, _read_to_other, _read_to_own),
    _Pair("write_file", "Write", {**_PATH, "content": "content"}),
    _Pair(
        "edit_file",
        "Edit",
        {**_PATH, "old_string": "old_string", "new_string": "new_string"}
        | {"replace_all": "replace_all"},
    ),
    _Pair("list_dir", "LS", {"path": "path"}),
    _Pair("glob", "Glob", {"pattern": "pattern", "path": "path"}),
    _Pair(
        "grep", "Grep", {"pattern": "pattern", "path": "path", "glob": "glob", "ignore_case": "-i"}
    ),
    _Pair("web_fetch", "WebFetch", {"url": "url"}),
    _Pair("web_search", "WebSearch", {"query": "query"}),
    _Pair("delegate", "Task", {"task": "prompt"}, _task_to_other, _task_to_own),
    _Pair("plan", "TodoWrite", {}, _plan_to_other, _plan_to_own),
    _Pair("skill_view", "Skill", {"name": "skill"}),
    _Pair("clarify", "AskUserQuestion", {"question": "question"}),
)
_BY_OWN = {pair.own: pair for pair in _TOOLS}
_BY_OTHER = {pair.other: pair for pair in _TOOLS}
_ALIASES = {
    "Agent": "Task",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "TaskCreate": "TodoWrite",
    "TaskUpdate": "TodoWrite",
    "BashOutput": "Bash",
    "KillShell": "Bash",
    "NotebookRead": "Read",
    "shell": "Bash",
    "apply_patch": "Edit",
}
"""Other names of the same tools: later ones of Claude Code, and those of Codex."""
ALSO = {"delegate": ("Agent",), "edit_file": ("MultiEdit", "apply_patch"), "bash": ("shell",)}
"""Further names under which matchers mean one of Hookline's tools."""


def other_name(own: str) -> str:
    """Return Claude Code's name of one of Hookline's tools; its own for any other."""
    pair = _BY_OWN.get(own)
    return pair.other if pair is not None else own


def own_name(other: str) -> str | None:
    """Return Hookline's name of a tool; None if Hookline has none.

    A name may carry a rule, as in ``Bash(git:*)``, which is left out.
    """
    name = other.partition("(")[0].strip()
    pair = _BY_OTHER.get(_ALIASES.get(name, name))
    if pair is not None:
        return pair.own
    return name if name in _BY_OWN or name.startswith("mcp__") else None


def own_names(others: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Hookline's names of tools, and the names that it has no tool for."""
    found: dict[str, None] = {}
    unknown = []
    for other in others:
        name = own_name(other)
        if name is None:
            unknown.append(other)
        else:
            found[name] = None
    return tuple(found), tuple(unknown)


def other_arguments(own: str, arguments: Arguments, workspace: Path) -> dict[str, Any]:
    """Return a call's arguments as Claude Code names them; paths are absolute there."""
    pair = _BY_OWN.get(own)
    if pair is None:
        return dict(arguments)
    new = {theirs: arguments[ours] for ours, theirs in pair.arguments.items() if ours in arguments}
    pair.to_other(new, arguments)
    if isinstance(path := new.get("file_path"), str):
        new["file_path"] = os.path.normpath(workspace / Path(path).expanduser())
    return new


def other_response(own: str, text: str, arguments: Arguments, *, ok: bool) -> dict[str, Any]:
    """Return a call's result as Claude Code gives it to hooks; ``text`` holds what Hookline has.

    ``arguments`` are those of :func:`other_arguments`.
    """
    response: dict[str, Any] = {"text": text, "is_error": not ok}
    if own == "bash":
        return {**response, "stdout": text, "stderr": "", "interrupted": False}
    if own in ("write_file", "edit_file"):
        return {**response, "filePath": arguments.get("file_path", ""), "success": ok}
    return response


def own_arguments(own: str, arguments: Arguments, before: Arguments) -> dict[str, Any]:
    """Return arguments that a hook changed as Hookline names them.

    ``before`` are those of the call; what Claude Code has no name for stays.
    """
    pair = _BY_OWN.get(own)
    if pair is None:
        return dict(arguments)
    named = set(pair.arguments) | {"start_line", "end_line", "timeout", "steps"}
    new = {name: value for name, value in before.items() if name not in named}
    new |= {
        ours: arguments[theirs] for ours, theirs in pair.arguments.items() if theirs in arguments
    }
    pair.to_own(new, arguments)
    return new
