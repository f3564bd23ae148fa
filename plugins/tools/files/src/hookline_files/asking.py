"""What a call would do before it is done: its effects, and the question that a person is asked.

A write to what runs by itself or instructs agents is asked about (`Paths.caution`), and so is one
that changes what a package runs when it is installed. What somebody runs afterwards, a Makefile
or a test's set-up, is declared as the effect ``execute``.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from hookline_hookspecs import Ask, Effect, FileRisk, Paths, ToolCall, ToolError
from hookline_textmatch import EditError, replace
from pydantic import TypeAdapter

from .writing import Target

WRITERS = frozenset({"write_file", "edit_file"})
"""The tools that write."""
DIFF_CHARS = 400_000
"""Characters, old and new, of which a diff is made; it takes a second for as many."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A file as it would be. ``before`` is None for a new one, ``after`` if the call would fail."""

    path: str
    before: str | None
    after: str | None

    @property
    def preview(self) -> str:
        """The whole change, as a unified diff where there is something to compare with."""
        if self.after is None:
            return ""
        if self.before is None:
            return f"{self.path} (new file)\n\n{self.after}"
        if len(self.before) + len(self.after) > DIFF_CHARS:
            return f"{self.path} (too large for a diff; this is what it would hold)\n\n{self.after}"
        old, new = self.before.split("\n"), self.after.split("\n")
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm=""))


def question(paths: Paths, call: ToolCall, limit: int) -> Ask | None:
    """The question about a write; None for an everyday one, and for one that is refused anyway."""
    path = call.arguments.get("path")
    if not isinstance(path, str) or paths.judge(path) is not None:
        return None
    reason = paths.caution(path)
    if reason is None:
        risk = _risk(paths, call, path, limit)
        if risk is None or not risk.at_once:
            return None
        reason = f"{path!r} is changed where it matters: {risk.name} {risk.what}."
    draft = _draft(paths, call, path, limit)
    if draft.before == draft.after is not None:
        return None
    return Ask(reason, draft.preview or _words(call))


def writes(paths: Paths, call: ToolCall, limit: int) -> list[Effect]:
    """What a call of one of `WRITERS` does."""
    path = call.arguments.get("path")
    if not isinstance(path, str) or paths.judge(path) is not None:
        return []
    target = str(paths.resolve(path))
    risk = _risk(paths, call, path, limit)
    effect = Effect("write", target)
    if (risk is not None and risk.at_once) or paths.caution(path) is not None:
        effect = Effect("configure", target)
    return [effect, Effect("execute", target)] if risk else [effect]


def reads(paths: Paths, call: ToolCall) -> list[Effect]:
    """What a call of a tool that only looks does."""
    path = call.arguments.get("path") or "."
    if not isinstance(path, str) or paths.judge(path) is not None:
        return []
    return [Effect("read", str(paths.resolve(path)))]


def _risk(paths: Paths, call: ToolCall, path: str, limit: int) -> FileRisk | None:
    """What of the change somebody runs afterwards."""
    real = str(paths.resolve(path))
    if not paths.runs_later(real):
        return None
    draft = _draft(paths, call, path, limit)
    return paths.change_risk(real, draft.before or "", draft.after or "")


def _draft(paths: Paths, call: ToolCall, path: str, limit: int) -> Draft:
    try:
        target = Target.at(paths, paths.resolve(path), path, limit)
    except (OSError, ToolError):
        return Draft(path, None, None)
    before = target.text if target.before is None or target.text is not None else ""
    given = {name: call.arguments.get(name) for name in ("content", "old_string", "new_string")}
    if call.name == "write_file":
        after = given["content"]
        return Draft(path, before, after if isinstance(after, str) else None)
    old, new = given["old_string"], given["new_string"]
    if before is None or not isinstance(old, str) or not isinstance(new, str):
        return Draft(path, before, None)
    try:
        # As the tool's own check of its arguments will read it: "yes" is true.
        every = TypeAdapter(bool).validate_python(call.arguments.get("replace_all", False))
        return Draft(path, before, replace(before, old, new, replace_all=every, name=path).text)
    except (EditError, ValueError):
        return Draft(path, before, None)


def _words(call: ToolCall) -> str:
    """The call's own words, where what it would make of the file cannot be told."""
    return "\n\n".join(f"{name}:\n{value}" for name, value in call.arguments.items())
