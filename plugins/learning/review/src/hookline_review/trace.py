"""The structured trace: the name and outcome of each tool call, without its content.

A review judges by the shape of the work (many calls, failures, repetition), so that text from a
file or a web page cannot influence it a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookline_hookspecs import ToolResult

MAX_ARGUMENTS = 6
"""Arguments shown in a line."""
LONG_TEXT_CHARS = 100
"""Characters of a text from which its length is shown."""
MIN_SHOWN_SECONDS = 1.0
"""Seconds from which the duration of a call is shown."""


def trace_lines(results: Sequence[ToolResult]) -> list[str]:
    """Return a line for each call: ``write_file(path, content: 3400) failed, 1 s``."""
    return [_line(result) for result in results]


def _line(result: ToolResult) -> str:
    arguments = list(result.call.arguments.items())
    shapes = [
        ": ".join(filter(None, [name, shape(value)])) for name, value in arguments[:MAX_ARGUMENTS]
    ]
    if len(arguments) > MAX_ARGUMENTS:
        shapes.append(f"{len(arguments) - MAX_ARGUMENTS} more")
    outcome = "" if result.ok and not _has_failed_exit_code(result) else " failed"
    seconds = f", {result.seconds:.0f} s" if result.seconds >= MIN_SHOWN_SECONDS else ""
    return f"{result.call.name}({', '.join(shapes)}){outcome}{seconds}"


def _has_failed_exit_code(result: ToolResult) -> bool:
    """True if a command ended with an exit code other than 0."""
    last = result.text.rstrip().rpartition("\n")[2]
    return last.startswith("[exit code ") and not last.startswith("[exit code 0]")


def shape(value: Any) -> str:
    """Return the type and size of a value.

    A short word, such as an action, is returned as it is, other short texts as nothing.
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        if value.isidentifier() and len(value) <= 16:
            return value
        return str(len(value)) if len(value) >= LONG_TEXT_CHARS else ""
    if isinstance(value, (list, tuple)):
        return f"list of {len(value)}"
    return f"object of {len(value)}" if isinstance(value, dict) else "value"
