"""Runs a sub-agent: a turn in a session of its own. Also makes the key of its task's record."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from hookline_hookspecs import Context, Host, ToolError, Turn
from hookline_hookspecs.named_agents import NamedAgent
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_span, on_one_line

from .report import instruction

MAX_TASK_CHARS = 100
"""Characters of a task in a list."""


@dataclass(slots=True, eq=False)
class SubAgent:
    """A sub-agent: the tools it may use and how many model calls it may make.

    ``named`` says more about a named one. ``timeout`` cancels it; ``reason`` says why, if time was
    not the reason. ``chat`` is the session that it works for, ``started`` a Unix time.
    """

    tools: frozenset[str]
    limit: int
    session_id: str
    named: NamedAgent | None = None
    timeout: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    reason: str = ""
    task: str = ""
    chat: str = ""
    started: float = 0.0

    async def run(self, host: Host, parent: Context, task: str, seconds: float) -> Turn:
        """Run the turn in which it does ``task``.

        Raises:
            ToolError: it took longer than ``seconds``, or was ended.
        """
        try:
            async with asyncio.timeout(seconds) as self.timeout:
                return await host.run_turn(
                    task,
                    parent=parent,
                    session_id=self.session_id,
                    tools=sorted(self.tools),
                    system=instruction(self.named),
                    model=self.named.model if self.named is not None else None,
                    kind="agent",
                    resumable=True,
                )
        except TimeoutError:
            if not self.timeout.expired():
                raise
            reason = self.reason or f"after {seconds:g} s"
            raise ToolError(
                f"the sub-agent was stopped {reason}; give it a smaller task, or do the work "
                "yourself; what it changed so far stays"
            ) from None

    def end(self, reason: str) -> None:
        """Cancel it at its next await."""
        if not self.reason:
            self.reason = reason
            self.timeout.reschedule(asyncio.get_running_loop().time())


def task_line(agent: SubAgent, now: float) -> str:
    """Return a line about a running sub-agent; ``now`` is the Unix time."""
    minutes, seconds = divmod(max(0, int(now - agent.started)), 60)
    duration = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    running = N_(f"running for {duration}")
    return f"- {code_span(on_one_line(agent.task, MAX_TASK_CHARS))} · {running}"


def new_session_id() -> str:
    """Return the id of a new sub-agent's session."""
    return f"agent-{uuid4().hex}"


def task_key(
    turn_id: str, task: str, context: str | None, tools: Sequence[str] | None, agent: str | None
) -> str:
    """Return the key of a turn's task, which stays the same if the turn resumes after a crash."""
    text = json.dumps([task, context, tools, *([agent] if agent else [])])
    return f"running/{turn_id}/{hashlib.sha256(text.encode()).hexdigest()}"
