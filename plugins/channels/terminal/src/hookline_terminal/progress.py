"""What a turn is doing right now, as lines with a spinner and seconds."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence

from hookline_hookspecs import ToolCall
from hookline_markdown import folded, one_line, readable

from .activity import call_line, lasted

FRAME = 0.125
"""Seconds that each picture of the spinner is shown."""
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
HINT = "ctrl-c stops"
THINKING, ANSWERING = "thinking", "answering"
_SECONDS = re.compile(r"\b(\d+(?:\.\d+)?) ?s(?:econds?)?\b")
_KEPT = 4_000
"""Characters of the model's thoughts that are kept; only the last lines are shown."""


class Progress:
    """Follows a turn: the model thinks, waits, answers, or its tools run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._phase = ""
        self._since = 0.0
        self._until = 0.0
        self._thoughts = ""
        self._thinking_since = 0.0
        self._calls: dict[str, tuple[ToolCall, float | None]] = {}

    def begin(self) -> None:
        """The model is asked."""
        self._turn_to(THINKING)

    def end(self) -> None:
        """The turn is over."""
        self._phase, self._thoughts = "", ""
        self._calls.clear()

    def answers(self) -> None:
        """A piece of the answer came."""
        if self._phase != ANSWERING:
            self._turn_to(ANSWERING)

    def thinks(self, piece: str) -> None:
        """A piece of the model's thoughts came."""
        if not self._thoughts:
            self._turn_to(THINKING)
            self._thinking_since = self._clock()
        self._thoughts = (self._thoughts + piece)[-_KEPT:]

    def thought(self) -> float | None:
        """The seconds that the model has thought aloud, once; None if it has not."""
        if not self._thoughts:
            return None
        self._thoughts = ""
        return self._clock() - self._thinking_since

    def waits(self, why: str) -> None:
        """The provider makes the request wait; ``why`` may say for how many seconds."""
        self._turn_to(why)
        found = _SECONDS.search(why)
        self._until = self._clock() + float(found[1]) if found else 0.0

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """The model has answered, and these calls are to be made."""
        self._calls |= {call.id: (call, None) for call in calls}
        self._turn_to(THINKING)

    def runs(self, call: ToolCall) -> None:
        """A call begins."""
        self._calls[call.id] = (call, self._clock())

    def ran(self, call: ToolCall) -> None:
        """A call has its result."""
        self._calls.pop(call.id, None)
        if not self._calls:
            self._turn_to(THINKING)

    def goes_on(self) -> None:
        """A person has answered: the time they took does not count."""
        now = self._clock()
        for name, (call, since) in self._calls.items():
            self._calls[name] = (call, since and now)
        self._since = now

    def thought_lines(self, width: int, most: int) -> list[str]:
        """The last lines of the model's thoughts."""
        lines = readable(self._thoughts.strip().expandtabs(4)).split("\n") if self._thoughts else []
        return [part for line in lines for part in folded(line, width - 3)][-most:]

    def lines(self, width: int, most: int) -> list[str]:
        """What is going on, at most ``most`` lines of ``width`` columns; none between turns."""
        if not self._phase:
            return []
        frame = FRAMES[int(self._clock() / FRAME) % len(FRAMES)]
        lines = [
            self._line(frame, call_line(call, width), since)
            for call, since in self._calls.values()
            if since is not None
        ]
        if not lines:
            lines = [self._line(frame, self._doing(), self._since)]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{frame} {len(lines) - most + 1} more"]
        return [_with_hint(lines[0], width), *(one_line(line, width - 1) for line in lines[1:])]

    def _doing(self) -> str:
        if not self._until:
            return self._phase
        left = max(0, math.ceil(self._until - self._clock()))
        return _SECONDS.sub(f"{left} s", self._phase, count=1)

    def _line(self, frame: str, what: str, since: float) -> str:
        seconds = "" if self._until else f" {lasted(self._clock() - since, whole=True)}"
        return f"{frame} {what}{seconds}"

    def _turn_to(self, phase: str) -> None:
        self._phase, self._since, self._until = phase, self._clock(), 0.0


def _with_hint(line: str, width: int) -> str:
    hinted = f"{line} · {HINT}"
    return hinted if len(hinted) < width else one_line(line, width - 1)
