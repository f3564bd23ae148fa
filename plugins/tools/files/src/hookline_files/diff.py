"""The unified diff of a change, which people see beside the tool's result."""

from __future__ import annotations

import difflib
from typing import Any

from hookline_hookspecs import ToolOutput

MAX_DIFF_CHARS = 400_000
"""Old and new text up to this length together are compared; that takes about a second."""
_NO_FILE = "/dev/null"
"""The old side's name in the diff of a new file."""


def change_output(answer: str, path: str, before: str | None, after: str | None) -> ToolOutput:
    """The tool's ``answer`` for the model, with the diff for people.

    ``before`` is None for a new file, ``after`` if the old text is unknown; then there is no diff.
    The output's ``data`` has the keys ``path added removed diff``.
    """
    if after is None or len(before or "") + len(after) > MAX_DIFF_CHARS:
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
    """The lines of a unified diff; empty if the texts are equal."""
    old = _NO_FILE if before is None else path
    return list(difflib.unified_diff(_lines(before or ""), _lines(after), old, path, lineterm=""))


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
