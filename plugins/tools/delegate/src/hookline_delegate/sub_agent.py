"""A running sub-agent, and the key under which its task is recorded."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(slots=True, eq=False)
class SubAgent:
    """A sub-agent: the tools it may use and how many model calls it may make.

    ``timeout`` cancels it; ``reason`` says why, if time was not the reason.
    """

    tools: frozenset[str]
    limit: int
    session_id: str = field(default_factory=lambda: f"agent-{uuid4().hex}")
    timeout: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    reason: str = ""

    def end(self, reason: str) -> None:
        """Cancel it at its next await."""
        if not self.reason:
            self.reason = reason
            self.timeout.reschedule(asyncio.get_running_loop().time())


def task_key(turn_id: str, task: str, context: str | None, tools: Sequence[str] | None) -> str:
    """Return the key of a turn's task, which stays the same if the turn resumes after a crash."""
    text = json.dumps([task, context, tools])
    return f"running/{turn_id}/{hashlib.sha256(text.encode()).hexdigest()}"
