"""Rows for a tool's result: a headline and part of its output, or all of it on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hookline_hookspecs import ToolResult
from hookline_markdown import fitted, folded, literal, readable

from .activity import call_line, format_duration
from .diffs import diff_rows
from .styles import DIM, RED, styled

INDENT = "  "
MAX_FOLDED_RESULTS = 50
"""Results that can still be shown in full."""
MAX_FAILURE_ROWS = 6
"""Rows shown of the reason of a failure."""


@dataclass(frozen=True, slots=True)
class FoldLimits:
    """How many rows of a diff and of a command's output are shown before they are folded.

    ``plain`` writes words for the marks of headlines, for a screen reader.
    """

    diff: int = 24
    output: int = 8
    hint: str = ", ctrl-o shows all"
    plain: bool = False


def result_rows(result: ToolResult, width: int, limits: FoldLimits) -> tuple[list[str], bool]:
    """Return the rows to show for a result, and whether some were left out."""
    rows = _body(result, width)
    data = result.data if isinstance(result.data, Mapping) else {}
    if "diff" in data:
        shown = _head(rows, limits.diff, limits.hint)
    elif _has_exit_code(data):
        shown = _both_ends(rows, limits.output, limits.hint)
    elif result.ok:
        shown = rows if len(rows) == 1 else []
    else:
        shown = _head(rows, MAX_FAILURE_ROWS, limits.hint)
    return [*_headline(result, data, width, plain=limits.plain), *shown], shown != rows


def full_result_rows(result: ToolResult, width: int) -> list[str]:
    """Return all rows of a result."""
    data = result.data if isinstance(result.data, Mapping) else {}
    return [*_headline(result, data, width), *_body(result, width)]


def _headline(
    result: ToolResult, data: Mapping[str, Any], width: int, *, plain: bool = False
) -> list[str]:
    took = format_duration(result.seconds)
    mark = "✓" if result.ok else "✗"
    between = " · "
    if plain:
        mark, between = "Tool", ", "
    tail = f"{_outcome(result, data)}{between}{took}"
    room = width - len(tail) - 6
    call = result.call
    if "diff" in data and "path" in call.arguments:  # the diff below shows the rest
        call = replace(call, arguments={"path": call.arguments["path"]})
    elif isinstance(board := data.get("board"), str):  # shown above the input line
        call = replace(call, arguments={"board": board})
    if room >= 12:
        text = f"{mark} {call_line(call, room)}{between}{tail}"
        return [styled(text, DIM if result.ok else RED)]
    rows = [f"{mark} {call_line(call, width - 3)}", f"{INDENT}{tail}"]
    return [styled(row, DIM if result.ok else RED) for row in rows]


def _outcome(result: ToolResult, data: Mapping[str, Any]) -> str:
    if "added" in data and "removed" in data:
        return f"+{data['added']} -{data['removed']}"
    if _has_exit_code(data):
        late = "timed out · " if data.get("timed_out") else ""
        return f"{late}exit code {data['exit_code']}"
    if result.ok:
        return "ok"
    return "denied" if result.text.startswith("Denied: ") else "failed"


def _has_exit_code(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("exit_code"), int)


def _body(result: ToolResult, width: int) -> list[str]:
    data = result.data if isinstance(result.data, Mapping) else {}
    if isinstance(diff := data.get("diff"), str):
        return diff_rows(diff, width)
    text = result.shown or result.text
    if _has_exit_code(data):
        text = text.removesuffix(f"[exit code {data['exit_code']}]").rstrip("\n")
        return _rows(text, width, lambda row: styled(row, DIM))
    if result.ok:
        return _rows(text, width, lambda row: styled(row, DIM))
    reason = text.removeprefix("Denied: ").removeprefix("Error: ")
    wrapped = fitted(literal(reason), width - len(INDENT)).rstrip("\n").split("\n")
    return [styled(f"{INDENT}{row}", RED) for row in wrapped]


def _rows(text: str, width: int, style: Callable[[str], str]) -> list[str]:
    if not text.strip():
        return []
    lines = readable(text.rstrip("\n").expandtabs(4)).split("\n")
    room = max(8, width - len(INDENT) - 1)
    return [style(INDENT + part) for line in lines for part in folded(line, room)]


def _head(rows: list[str], max_rows: int, hint: str) -> list[str]:
    # A single hidden row would be replaced by one that says so.
    if len(rows) <= max_rows + 1:
        return rows
    return [*rows[:max_rows], _more(len(rows) - max_rows, hint)]


def _both_ends(rows: list[str], max_rows: int, hint: str) -> list[str]:
    if len(rows) <= max_rows + 1:
        return rows
    first = max_rows // 3
    last = max_rows - first
    return [*rows[:first], _more(len(rows) - max_rows, hint), *rows[len(rows) - last :]]


def _more(count: int, hint: str) -> str:
    return styled(f"{INDENT}… {count} more lines{hint}", DIM)


class FoldedResults:
    """The results that were not shown in full."""

    def __init__(self) -> None:
        self._results: deque[ToolResult] = deque(maxlen=MAX_FOLDED_RESULTS)

    def append(self, result: ToolResult) -> None:
        """Add a result."""
        self._results.append(result)

    def pop(self) -> ToolResult | None:
        """Remove and return the newest result; None if there is none."""
        return self._results.pop() if self._results else None
