"""The state of one turn: its calls, and how many times in a row each tool has failed."""

from __future__ import annotations

import re
from collections import Counter

from hookline_hookspecs import Turn

from .calls import CallHistory

SHELL_TOOL = "bash"
"""The tool whose result ends with an exit code."""
_EXIT_CODE = re.compile(r"\[exit code (-?\d+)\]\s*(?:\n\nNote: |\Z)")
_MAX_TAIL_CHARS = 4_000
"""Characters at the end of a result that are searched for its exit code."""


class TurnState:
    """The state of one turn, in the plugin's stash."""

    def __init__(self) -> None:
        self.calls = CallHistory()
        self._streaks: Counter[str] = Counter()
        self.longest_streak = 0
        """The longest run of failures of any tool; a later success does not lower it."""
        self.failing_tool = ""
        """The tool with that run."""
        self._invalid_calls = 0
        self.longest_invalid_streak = 0
        """The longest run of calls of any tools that could not be run as they were written."""

    def catch_up(self, turn: Turn) -> None:
        """Read the turn's messages, including those from an earlier process."""
        for name, block in self.calls.catch_up(turn.messages):
            self.record_outcome(name, block.text, ok=block.ok)

    def record_validity(self, *, invalid: bool) -> None:
        """Record whether a call could be run as the model wrote it."""
        self._invalid_calls = self._invalid_calls + 1 if invalid else 0
        self.longest_invalid_streak = max(self.longest_invalid_streak, self._invalid_calls)

    def record_outcome(self, name: str, text: str, *, ok: bool) -> int:
        """Record a call's outcome; return how many times in a row its tool has failed."""
        if ok and not (name == SHELL_TOOL and _exit_code(text)):
            del self._streaks[name]
            return 0
        self._streaks[name] += 1
        if self._streaks[name] > self.longest_streak:
            self.longest_streak = self._streaks[name]
            self.failing_tool = name
        return self._streaks[name]


def _exit_code(text: str) -> int:
    found = _EXIT_CODE.findall(text[-_MAX_TAIL_CHARS:])
    return int(found[-1]) if found else 0
