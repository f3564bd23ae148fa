"""A tool's result on the screen: its line, some rows of what it did, and all of it on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hookline_hookspecs import ToolResult
from hookline_markdown import fitted, folded, literal, readable

from .activity import call_line, lasted
from .diffs import diff_rows
from .paint import DIM, RED, painted

INDENT = "  "
KEPT = 50
"""Results that can still be shown in full."""
WHY_ROWS = 6
"""Rows of the reason of a failure."""


@dataclass(frozen=True, slots=True)
class Folds:
    """How many rows are shown of a diff and of a command's output before they are folded."""

    diff: int
    output: int
    hint: str = ", ctrl-o shows all"


def told(result: ToolResult, width: int, folds: Folds) -> tuple[list[str], bool]:
    """The rows that tell of a result, and whether there is more than they show."""
    rows = _body(result, width)
    data = result.data if isinstance(result.data, Mapping) else {}
    if "diff" in data:
        kept = _head(rows, folds.diff, folds.hint)
    elif _ran(data):
        kept = _both_ends(rows, folds.output, folds.hint)
    elif result.ok:
        kept = rows if len(rows) == 1 else []
    else:
        kept = _head(rows, WHY_ROWS, folds.hint)
    return [*_headline(result, data, width), *kept], kept != rows


def whole(result: ToolResult, width: int) -> list[str]:
    """The rows that tell all of a result."""
    data = result.data if isinstance(result.data, Mapping) else {}
    return [*_headline(result, data, width), *_body(result, width)]


def _headline(result: ToolResult, data: Mapping[str, Any], width: int) -> list[str]:
    took = lasted(result.seconds)
    mark = "✓" if result.ok else "✗"
    tail = f"{_outcome(result, data)} · {took}"
    room = width - len(tail) - 6
    call = result.call
    if "diff" in data and "path" in call.arguments:  # the diff below has the rest
        call = replace(call, arguments={"path": call.arguments["path"]})
    elif isinstance(board := data.get("board"), str):  # shown as a whole above the input line
        call = replace(call, arguments={"board": board})
    if room >= 12:
        text = f"{mark} {call_line(call, room)} · {tail}"
        return [painted(text, DIM if result.ok else RED)]
    rows = [f"{mark} {call_line(call, width - 3)}", f"{INDENT}{tail}"]
    return [painted(row, DIM if result.ok else RED) for row in rows]


def _outcome(result: ToolResult, data: Mapping[str, Any]) -> str:
    if "added" in data and "removed" in data:
        return f"+{data['added']} -{data['removed']}"
    if _ran(data):
        late = "timed out · " if data.get("timed_out") else ""
        return f"{late}exit code {data['exit_code']}"
    if result.ok:
        return "ok"
    return "denied" if result.text.startswith("Denied: ") else "failed"


def _ran(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("exit_code"), int)


def _body(result: ToolResult, width: int) -> list[str]:
    data = result.data if isinstance(result.data, Mapping) else {}
    if isinstance(diff := data.get("diff"), str):
        return diff_rows(diff, width)
    text = result.shown or result.text
    if _ran(data):
        text = text.removesuffix(f"[exit code {data['exit_code']}]").rstrip("\n")
        return _rows(text, width, lambda row: painted(row, DIM))
    if result.ok:
        return _rows(text, width, lambda row: painted(row, DIM))
    why = text.removeprefix("Denied: ").removeprefix("Error: ")
    wrapped = fitted(literal(why), width - len(INDENT)).rstrip("\n").split("\n")
    return [painted(f"{INDENT}{row}", RED) for row in wrapped]


def _rows(text: str, width: int, style: Callable[[str], str]) -> list[str]:
    if not text.strip():
        return []
    lines = readable(text.rstrip("\n").expandtabs(4)).split("\n")
    room = max(8, width - len(INDENT) - 1)
    return [style(INDENT + part) for line in lines for part in folded(line, room)]


def _head(rows: list[str], most: int, hint: str) -> list[str]:
    # One row more takes no more room than the words that it is left out.
    return rows if len(rows) <= most + 1 else [*rows[:most], _more(len(rows) - most, hint)]


def _both_ends(rows: list[str], most: int, hint: str) -> list[str]:
    if len(rows) <= most + 1:
        return rows
    first = most // 3
    last = most - first
    return [*rows[:first], _more(len(rows) - most, hint), *rows[len(rows) - last :]]


def _more(count: int, hint: str) -> str:
    return painted(f"{INDENT}… {count} more lines{hint}", DIM)


class Recent:
    """The results that were not shown in full, the newest first; each is given once."""

    def __init__(self) -> None:
        self._results: deque[ToolResult] = deque(maxlen=KEPT)

    def add(self, result: ToolResult) -> None:
        """A result of which there is more than was shown."""
        self._results.append(result)

    def next(self) -> ToolResult | None:
        """The newest one that was not given yet; None if there is none."""
        return self._results.pop() if self._results else None
