"""What sub-agents do now, one line each: their task, the tool that runs, the seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hookline_hookspecs import ToolCall
from hookline_markdown import one_line

from .activity import call_line, format_duration

MAX_TASK_COLUMNS = 32


@dataclass(slots=True)
class _SubAgent:
    task: str
    since: float
    calls: dict[str, ToolCall] = field(default_factory=dict)


class SubAgentProgress:
    """Follows the sub-agents of a turn, by the id of their sessions."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._agents: dict[str, _SubAgent] = {}

    def start(self, session_id: str, task: str) -> None:
        """Start with a task."""
        self._agents[session_id] = _SubAgent(task.strip(), self._clock())

    def start_call(self, session_id: str, call: ToolCall) -> None:
        """Show that a tool runs."""
        if agent := self._agents.get(session_id):
            agent.calls[call.id] = call

    def end_call(self, session_id: str, call: ToolCall) -> None:
        """Show that it has ended."""
        if agent := self._agents.get(session_id):
            agent.calls.pop(call.id, None)

    def end(self, call: ToolCall) -> None:
        """Remove the sub-agent that a call of the turn started, because that has its result."""
        for session_id, agent in list(self._agents.items()):
            if _started(call, agent):
                del self._agents[session_id]

    def clear(self) -> None:
        """Remove all."""
        self._agents.clear()

    def runs_for(self, call: ToolCall) -> bool:
        """Whether a sub-agent works for this call of the turn, so that its line says more."""
        return any(_started(call, agent) for agent in self._agents.values())

    def lines(self, frame: str, width: int) -> list[str]:
        """Return a line for each sub-agent, of ``width`` columns."""
        return [self._line(frame, agent, width) for agent in self._agents.values()]

    def _line(self, frame: str, agent: _SubAgent, width: int) -> str:
        task = one_line(agent.task, min(MAX_TASK_COLUMNS, max(10, width // 3)))
        tail = f" {format_duration(self._clock() - agent.since, whole=True)}"
        room = max(8, width - len(task) - len(tail) - 8)
        calls = list(agent.calls.values())
        doing = call_line(calls[-1], room) if calls else "thinking"
        return one_line(f"{frame} ↳ {task}: {doing}{tail}", width - 1)


def _started(call: ToolCall, agent: _SubAgent) -> bool:
    task = call.arguments.get("task")
    return isinstance(task, str) and bool(task.strip()) and agent.task.startswith(task.strip())
