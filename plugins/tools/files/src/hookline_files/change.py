"""A change that was made to a file, as people and programs see it."""

from __future__ import annotations

import difflib
from typing import Any

from hookline_hookspecs import ToolOutput

from .asking import DIFF_CHARS

_NOTHING = "/dev/null"
"""What a unified diff calls the old side of a new file."""


def changed(answer: str, path: str, before: str | None, after: str | None) -> ToolOutput:
    """The tool's ``answer`` for the model, and the diff for people.

    ``before`` is None for a new file. The output's ``data`` are ``path added removed diff``.
    ``after`` is None if the two cannot be compared: then people read the answer alone.
    """
    if after is None or len(before or "") + len(after) > DIFF_CHARS:
        return ToolOutput(answer, data={"path": path})
    lines = diff(path, before, after)
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    data: dict[str, Any] = {"path": path, "added": added, "removed": removed}
    verb = "New file" if before is None else "Changed"
    text = "\n".join(lines)
    shown = f"{verb} {path} (+{added} -{removed})\n\n{text}"
    return ToolOutput(answer, data=data | {"diff": text}, shown=shown)


def diff(path: str, before: str | None, after: str) -> list[str]:
    """The lines of a unified diff; empty if nothing is different."""
    old = _NOTHING if before is None else path
    return list(difflib.unified_diff(_lines(before or ""), _lines(after), old, path, lineterm=""))


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
