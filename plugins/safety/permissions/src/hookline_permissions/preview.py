"""What a call would do, as a person is shown it: the command, or the change as a diff."""

from __future__ import annotations

import difflib

from hookline_hookspecs import Context, ToolCall
from hookline_textmatch import EditError, replace

MAX_DIFF_CHARS = 400_000
"""Characters of a file, old and new together, of which a diff is made."""


def preview(ctx: Context, call: ToolCall) -> str:
    """The literal text a person decides by; empty for the call's own arguments."""
    arguments = call.arguments
    command, path = arguments.get("command"), arguments.get("path")
    if isinstance(command, str):
        return command
    if not isinstance(path, str):
        return ""
    before = _content(ctx, path)
    after = arguments.get("content")
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if isinstance(old, str) and isinstance(new, str) and before is not None:
        every = arguments.get("replace_all") is True
        try:
            after = replace(before, old, new, replace_all=every, name=path).text
        except EditError:
            return ""
    if not isinstance(after, str):
        return ""
    if before is None:
        return f"{path} (new file)\n\n{after}"
    if len(before) + len(after) > MAX_DIFF_CHARS:
        return f"{path} (too large for a diff; this is what it would hold)\n\n{after}"
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), path, path, lineterm="")
    return "\n".join(lines)


def _content(ctx: Context, path: str) -> str | None:
    """The file's text; None where there is none, or it cannot be read as text."""
    try:
        with ctx.paths.open_read(ctx.paths.resolve(path)) as file:
            return file.read(MAX_DIFF_CHARS * 4).decode("utf-8")
    except (OSError, ValueError):
        return None
