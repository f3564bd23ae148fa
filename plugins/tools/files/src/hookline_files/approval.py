"""The effects of a call, and the approval that it needs, worked out before it runs.

A write to a file that runs by itself or instructs agents needs approval (`Paths.caution`), and so
does one that changes what a package runs when it is installed. A write to a file that a person may
run afterwards, such as a Makefile or a ``conftest.py``, has the effect ``execute``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from hookline_hookspecs import Ask, Effect, FileRisk, Paths, ToolCall, ToolError
from hookline_hookspecs.sentences import N_
from hookline_textmatch import EditError, replace
from pydantic import TypeAdapter

from .diff import MAX_DIFF_CHARS
from .write_target import WriteTarget

WRITE_TOOLS = frozenset({"write_file", "edit_file"})
"""The tools that write."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A file before and after a call. ``before`` is None for a new file, ``after`` if the
    call would fail."""

    path: str
    before: str | None
    after: str | None

    @property
    def preview(self) -> str:
        """The change as a unified diff, or the whole new file; empty if the call would fail."""
        if self.after is None:
            return ""
        if self.before is None:
            return f"{self.path} (new file)\n\n{self.after}"
        if len(self.before) + len(self.after) > MAX_DIFF_CHARS:
            return f"{self.path} (too large for a diff; the new content)\n\n{self.after}"
        old, new = self.before.split("\n"), self.after.split("\n")
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm=""))


def approval_question(paths: Paths, call: ToolCall, limit: int) -> Ask | None:
    """The approval that a write needs; None if it needs none or is refused anyway."""
    path = call.arguments.get("path")
    if not isinstance(path, str) or paths.check_path(path) is not None:
        return None
    reason = paths.caution(path)
    if reason is None:
        risk = _risk(paths, call, path, limit)
        if risk is None or not risk.at_once:
            return None
        reason = N_(f"{path!r} changes what runs ({risk.name}): it {risk.what}.")
    change = _planned_change(paths, call, path, limit)
    if change.before == change.after is not None:
        return None
    return Ask(reason, change.preview or _arguments_text(call))


def write_effects(paths: Paths, call: ToolCall, limit: int) -> list[Effect]:
    """The effects of a call of one of `WRITE_TOOLS`."""
    path = call.arguments.get("path")
    if not isinstance(path, str) or paths.check_path(path) is not None:
        return []
    target = str(paths.resolve(path))
    risk = _risk(paths, call, path, limit)
    effect = Effect("write", target)
    if (risk is not None and risk.at_once) or paths.caution(path) is not None:
        effect = Effect("configure", target)
    return [effect, Effect("execute", target)] if risk else [effect]


def read_effects(paths: Paths, call: ToolCall) -> list[Effect]:
    """The effects of a call of a tool that only reads."""
    path = call.arguments.get("path") or "."
    if not isinstance(path, str) or paths.check_path(path) is not None:
        return []
    return [Effect("read", str(paths.resolve(path)))]


def _risk(paths: Paths, call: ToolCall, path: str, limit: int) -> FileRisk | None:
    """The part of the change that a person or a program runs afterwards."""
    real = str(paths.resolve(path))
    if not paths.runs_later(real):
        return None
    change = _planned_change(paths, call, path, limit)
    return paths.change_risk(real, change.before or "", change.after or "")


def _planned_change(paths: Paths, call: ToolCall, path: str, limit: int) -> PlannedChange:
    try:
        target = WriteTarget.at(paths, paths.resolve(path), path, limit)
    except (OSError, ToolError):
        return PlannedChange(path, None, None)
    before = target.text if target.before is None or target.text is not None else ""
    arguments = {name: call.arguments.get(name) for name in ("content", "old_string", "new_string")}
    if call.name == "write_file":
        after = arguments["content"]
        return PlannedChange(path, before, after if isinstance(after, str) else None)
    old, new = arguments["old_string"], arguments["new_string"]
    if before is None or not isinstance(old, str) or not isinstance(new, str):
        return PlannedChange(path, before, None)
    try:
        # Parsed like the tool's own arguments: "yes" is true.
        replace_all = TypeAdapter(bool).validate_python(call.arguments.get("replace_all", False))
        edited = replace(before, old, new, replace_all=replace_all, name=path)
    except (EditError, ValueError):
        return PlannedChange(path, before, None)
    return PlannedChange(path, before, edited.text)


def _arguments_text(call: ToolCall) -> str:
    """The call's arguments, shown where the new content cannot be worked out."""
    return "\n\n".join(f"{name}:\n{value}" for name, value in call.arguments.items())
