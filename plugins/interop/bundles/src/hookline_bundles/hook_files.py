"""Reads hooks: ``hooks.json`` and the section ``hooks`` of ``settings.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .bundle import BundleHook

EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "PermissionRequest",
)
"""The events that Hookline has."""
_CURSOR_EVENTS = {
    "beforeShellExecution": ("PreToolUse", "Bash"),
    "beforeMCPExecution": ("PreToolUse", "mcp__.*"),
    "beforeReadFile": ("PreToolUse", "Read"),
    "afterFileEdit": ("PostToolUse", "Edit|Write"),
    "afterShellExecution": ("PostToolUse", "Bash"),
    "beforeSubmitPrompt": ("UserPromptSubmit", ""),
    "preToolUse": ("PreToolUse", ""),
    "postToolUse": ("PostToolUse", ""),
    "sessionStart": ("SessionStart", ""),
    "sessionEnd": ("SessionEnd", ""),
    "stop": ("Stop", ""),
    "subagentStop": ("SubagentStop", ""),
    "preCompact": ("PreCompact", ""),
}
"""Cursor's names of events, with the matcher that they imply."""
DEFAULT_TIMEOUT = 60.0
MAX_TIMEOUT = 600.0
"""Seconds."""
_MAX_HOOKS = 200


class HookReader:
    """Collects the hooks of one bundle, and why others are not used."""

    def __init__(self) -> None:
        self.hooks: list[BundleHook] = []
        self.problems: list[str] = []

    def read(self, value: Any, where: str) -> None:
        """Add the hooks of a parsed file; ``where`` names it in problems."""
        section = value.get("hooks", value) if isinstance(value, Mapping) else value
        if not isinstance(section, Mapping):
            self.problems.append(f"{where}: expected an object with events")
            return
        for event, groups in section.items():
            if event in ("version", "description", "$schema"):
                continue
            own, implied = _CURSOR_EVENTS.get(event, (event, ""))
            if own not in EVENTS:
                self.problems.append(f"{where}: Hookline has no event {str(event)[:60]}")
            elif not isinstance(groups, list):
                self.problems.append(f"{where}: {event}: expected a list")
            else:
                for group in groups:
                    self._read_group(own, implied, group, f"{where}: {event}")

    def _read_group(self, event: str, implied: str, group: Any, where: str) -> None:
        if not isinstance(group, Mapping):
            self.problems.append(f"{where}: expected an object")
            return
        matcher = group.get("matcher", "") or implied
        if not isinstance(matcher, str):
            self.problems.append(f"{where}: matcher: expected a string")
            return
        if problem := matcher_problem(matcher):
            self.problems.append(f"{where}: {problem}")
            return
        handlers = group.get("hooks", [group] if "command" in group else None)
        if not isinstance(handlers, list):
            self.problems.append(f"{where}: it has no list of hooks")
            return
        for handler in handlers:
            self._read_handler(event, matcher, handler, where)

    def _read_handler(self, event: str, matcher: str, handler: Any, where: str) -> None:
        if not isinstance(handler, Mapping):
            self.problems.append(f"{where}: expected an object")
            return
        kind = handler.get("type", "command")
        command, args = handler.get("command"), handler.get("args")
        if kind != "command":
            self.problems.append(
                f"{where}: a hook of type {str(kind)[:40]!r} is not run; only `command` is"
            )
        elif not isinstance(command, str) or not command.strip():
            self.problems.append(f"{where}: it has no command")
        elif args is not None and not _is_texts(args):
            self.problems.append(f"{where}: args: expected a list of strings")
        elif not isinstance(handler.get("if", ""), str):
            self.problems.append(f"{where}: if: expected a string")
        elif len(self.hooks) >= _MAX_HOOKS:
            self.problems.append(f"{where}: only {_MAX_HOOKS} hooks of a bundle are used")
        else:
            self.hooks.append(
                BundleHook(
                    event,
                    matcher,
                    command,
                    tuple(args) if args is not None else None,
                    _timeout(handler.get("timeout")),
                    strict=handler.get("onFailure") == "block" or handler.get("failClosed") is True,
                    detached=handler.get("async") is True,
                    condition=handler.get("if", ""),
                )
            )


def matcher_problem(matcher: str) -> str:
    """Return why a matcher cannot be used; empty if it can."""
    if len(matcher) > 1_000:
        return "its matcher is longer than 1,000 characters"
    try:
        re.compile(matcher if matcher != "*" else "")
    except re.error as error:
        return f"its matcher {matcher[:60]!r} is not a regular expression: {error}"
    return ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _timeout(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return min(float(value), MAX_TIMEOUT)
    return DEFAULT_TIMEOUT
