"""The state of one turn: its calls, and how often each tool has failed in a row."""

from __future__ import annotations

import re
from collections import Counter

from hookline_hookspecs import Turn

from .calls import Calls

SHELL = "bash"
"""The tool whose result ends with an exit code (CONTRACT, result texts)."""
_EXIT = re.compile(r"\[exit code (-?\d+)\]\s*(?:\n\nNote: |\Z)")
_TAIL = 4_000
"""Characters at the end of a result that are searched for its exit code."""


class TurnState:
    """The state of one turn, in the plugin's stash."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._in_a_row: Counter[str] = Counter()
        self.longest = 0
        """The most failures in a row that any tool has had; a later success does not lower it."""
        self.failing = ""
        """The tool that had them."""

    def catch_up(self, turn: Turn) -> None:
        """Read the turn's messages, including those of an earlier process that started the turn."""
        for name, block in self.calls.catch_up(turn.messages):
            self.count(name, block.text, ok=block.ok)

    def count(self, name: str, text: str, *, ok: bool) -> int:
        """Record the outcome of a call; return how often its tool has failed in a row, or 0."""
        if ok and not (name == SHELL and _exit_code(text)):
            del self._in_a_row[name]
            return 0
        self._in_a_row[name] += 1
        if self._in_a_row[name] > self.longest:
            self.longest, self.failing = self._in_a_row[name], name
        return self._in_a_row[name]


def _exit_code(text: str) -> int:
    found = _EXIT.findall(text[-_TAIL:])
    return int(found[-1]) if found else 0
