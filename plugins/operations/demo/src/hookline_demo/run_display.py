"""Displays a run's JSON lines as readable text while they arrive."""

from __future__ import annotations

import json

from .process import Line
from .run_record import DENIED
from .screen import Screen, Style

MAX_LINE_CHARS = 96
"""Longer lines are cut."""
HEAD_LINES = 4
"""Lines shown from the start of a long result."""
TAIL_LINES = 7
"""Lines shown from its end."""
MAX_VALUE_CHARS = 60
"""Characters shown of one argument of a tool call."""


class RunDisplay:
    """Displays the lines of a run; unknown types are ignored."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._calls: dict[str, str] = {}
        self._latest = ""
        self._talking = False
        self._answered = False
        self._notices: list[str] = []
        self._refusal = ""

    def show(self, line: Line) -> None:
        """Display one line."""
        kind = line.get("type")
        if kind != "delta" and self._talking:
            self._screen.say()
            self._talking = False
        if kind == "notice":
            # A refusal comes twice, as a notice and as the call's result: wait for the result.
            self._notices.append(f"[{line.get('plugin', '?')}] {line.get('text', '')}")
            return
        self._tell_notices(str(line.get("text", "")))
        show = {
            "delta": self._delta,
            "tool_call": self._call,
            "tool_result": self._result,
            "question": self._question,
            "error": self._error,
            "result": self._reply,
        }.get(str(kind))
        if show is not None:
            show(line)

    def _tell_notices(self, text: str) -> None:
        self._refusal = ""
        for notice in self._notices:
            _, found, reason = notice.partition(" was refused: ")
            if found and text.startswith(DENIED):
                self._refusal = reason  # for people; the result has the model's sentence
            else:
                self._screen.say(f"  {notice}", "notice")
        self._notices.clear()

    def _delta(self, line: Line) -> None:
        text = str(line.get("text", ""))
        if not self._talking:
            self._screen.write("\nmodel  ", "bold")
            self._talking = True
        self._answered = True
        self._screen.write(text.replace("\n", "\n       "))

    def _call(self, line: Line) -> None:
        arguments = line.get("arguments")
        words = [str(line.get("name", "?"))]
        if isinstance(arguments, dict):
            words += [f"{name}={_value(value)}" for name, value in arguments.items()]
        self._answered = False
        self._latest = str(line.get("id", ""))
        self._calls[self._latest] = " ".join(words)
        self._screen.say(f"  > {self._calls[self._latest]}", "bold")

    def _result(self, line: Line) -> None:
        identity = str(line.get("id", ""))
        if identity != self._latest:
            # Calls that ran in parallel: repeat to which call this result belongs.
            self._screen.say(f"  < {self._calls.get(identity, line.get('name', '?'))}", "dim")
        self._latest = ""
        text = str(line.get("text", ""))
        if text.startswith(DENIED):
            reason = self._refusal or text.removeprefix(DENIED)
            self._screen.say(f"  x REFUSED: {reason}", "notice")
            return
        style: Style = "dim" if line.get("ok", True) else "bad"
        for row in shortened(text):
            self._screen.say(f"    {row}".rstrip(), style)

    def _question(self, line: Line) -> None:
        self._screen.say(f"  ? {line.get('text', '')}", "notice")

    def _error(self, line: Line) -> None:
        self._screen.say(f"  ! {line.get('text', '')}", "bad")

    def _reply(self, line: Line) -> None:
        text = str(line.get("text") or "")
        if text and not self._answered and line.get("stop") == "done":
            self._delta(line)
            self._screen.say()
            self._talking = False


def shortened(text: str) -> list[str]:
    """The lines of a result to show, each at most :data:`MAX_LINE_CHARS` characters wide."""
    lines = [
        _cut(line.replace("\t", "  "), MAX_LINE_CHARS) for line in text.strip("\n").split("\n")
    ]
    left_out = len(lines) - HEAD_LINES - TAIL_LINES
    if left_out < 2:
        return lines
    return [*lines[:HEAD_LINES], f"... {left_out} lines left out ...", *lines[-TAIL_LINES:]]


def _value(value: object) -> str:
    """An argument on one line: a short word as it is, anything else as JSON, cut."""
    if isinstance(value, str) and value and not any(c.isspace() or c in "\"'" for c in value):
        return _cut(value, MAX_VALUE_CHARS)
    return _cut(json.dumps(value, ensure_ascii=False), MAX_VALUE_CHARS)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
