"""What a turn is doing now, as lines with a spinner and seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from hookline_hookspecs import ToolCall, Wait
from hookline_markdown import folded, one_line, readable

from .activity import call_line, format_duration
from .sub_agents import SubAgentProgress

FRAME_SECONDS = 0.125
"""Seconds for each frame of the spinner."""
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STOP_HINT, RUN_HINT = "esc stops", "ctrl-c stops"
"""In the chat, and in ``hookline run``, which reads no keys."""
THINKING, ANSWERING = "thinking", "answering"
_MAX_THOUGHT_CHARS = 4_000
"""Characters kept of the model's thoughts; only the last lines are shown."""


class TurnProgress:
    """Follows a turn: the model thinks, waits or answers, or tools run.

    Without ``keys`` there is no input line, and Ctrl-C alone stops the turn.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, keys: bool = True) -> None:
        self._clock = clock
        self._keys = keys
        self._phase = ""
        self._since = 0.0
        self._until = 0.0
        self._thoughts = ""
        self._thinking_since = 0.0
        self._calls: dict[str, tuple[ToolCall, float | None]] = {}
        self.sub_agents = SubAgentProgress(clock)

    def start(self) -> None:
        """Start with a request to the model."""
        self._set_phase(THINKING)

    def end(self) -> None:
        """End the turn: nothing is shown."""
        self._phase, self._thoughts = "", ""
        self._calls.clear()
        self.sub_agents.clear()

    def stopped_calls(self) -> list[tuple[ToolCall, float]]:
        """Return the calls that run, and for how many seconds."""
        now = self._clock()
        return [(call, now - since) for call, since in self._calls.values() if since is not None]

    def set_answering(self) -> None:
        """Show that the model streams its answer."""
        if self._phase != ANSWERING:
            self._set_phase(ANSWERING)

    def add_thought(self, text: str) -> None:
        """Add streamed text of the model's thoughts."""
        if not self._thoughts:
            self._set_phase(THINKING)
            self._thinking_since = self._clock()
        self._thoughts = (self._thoughts + text)[-_MAX_THOUGHT_CHARS:]

    def take_thinking_time(self) -> float | None:
        """Remove the thoughts and return how many seconds they took; None without any."""
        if not self._thoughts:
            return None
        self._thoughts = ""
        return self._clock() - self._thinking_since

    def set_waiting(self, text: str, wait: Wait | None) -> None:
        """Show why the provider delays the request, and count down the seconds of ``wait``.

        Args:
            text: shown if there is no ``wait``.
            wait: the reason and the seconds.
        """
        self._set_phase(wait.reason if wait else text)
        self._until = self._clock() + wait.seconds if wait else 0.0

    def add_calls(self, calls: Sequence[ToolCall]) -> None:
        """Add the calls of a response, which have not started yet."""
        self._calls |= {call.id: (call, None) for call in calls}
        self._set_phase(THINKING)

    def start_call(self, call: ToolCall) -> None:
        """Start the clock of a call."""
        self._calls[call.id] = (call, self._clock())

    def end_call(self, call: ToolCall) -> None:
        """Remove a call that has its result."""
        self._calls.pop(call.id, None)
        self.sub_agents.end(call)
        if not self._calls:
            self._set_phase(THINKING)

    def restart_clocks(self) -> None:
        """Count from now on, to leave out the time that a person took to answer."""
        now = self._clock()
        for name, (call, since) in self._calls.items():
            self._calls[name] = (call, since and now)
        self._since = now

    def thought_lines(self, width: int, max_lines: int) -> list[str]:
        """Return the last lines of the model's thoughts."""
        lines = readable(self._thoughts.strip().expandtabs(4)).split("\n") if self._thoughts else []
        return [part for line in lines for part in folded(line, width - 3)][-max_lines:]

    def lines(self, width: int, max_lines: int) -> list[str]:
        """Return the current activity, in lines of ``width`` columns; none between turns."""
        if not self._phase:
            return []
        frame = FRAMES[int(self._clock() / FRAME_SECONDS) % len(FRAMES)]
        lines = [
            self._line(frame, call_line(call, width), since)
            for call, since in self._calls.values()
            if since is not None and not self.sub_agents.runs_for(call)
        ] + self.sub_agents.lines(frame, width)
        if not lines:
            lines = [self._line(frame, self.phase_text(), self._since)]
        if len(lines) > max_lines:
            lines = [*lines[: max_lines - 1], f"{frame} {len(lines) - max_lines + 1} more"]
        hint = STOP_HINT if self._keys else RUN_HINT
        return [
            _with_hint(lines[0], hint, width),
            *(one_line(line, width - 1) for line in lines[1:]),
        ]

    def phase_text(self) -> str:
        """Return what the model does, or what is waited for and for how long."""
        if not self._until:
            return self._phase
        left = math.ceil(self._until - self._clock())
        return f"{self._phase}; trying again " + (f"in {left} s" if left > 0 else "now")

    def _line(self, frame: str, what: str, since: float) -> str:
        seconds = "" if self._until else f" {format_duration(self._clock() - since, whole=True)}"
        return f"{frame} {what}{seconds}"

    def _set_phase(self, phase: str) -> None:
        self._phase, self._since, self._until = phase, self._clock(), 0.0


def _with_hint(line: str, hint: str, width: int) -> str:
    hinted = f"{line} · {hint}"
    return hinted if len(hinted) < width else one_line(line, width - 1)
