"""One sub-agent under way, and the name under which its task is noted."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(slots=True, eq=False)
class Agent:
    """A sub-agent: the tools it may use and how many model calls it may make.

    ``clock`` is what ends it; ``reason`` tells why it did, if it was not for the time.
    """

    tools: frozenset[str]
    limit: int
    session_id: str = field(default_factory=lambda: f"agent-{uuid4().hex}")
    clock: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    reason: str = ""

    def end(self, reason: str) -> None:
        """End it as soon as it waits for something."""
        if not self.reason:
            self.reason = reason
            self.clock.reschedule(asyncio.get_running_loop().time())


def key_of(turn_id: str, task: str, context: str | None, tools: Sequence[str] | None) -> str:
    """The key of a turn's task: it is the same when the turn is taken up after a crash."""
    told = json.dumps([task, context, tools])
    return f"running/{turn_id}/{hashlib.sha256(told.encode()).hexdigest()}"
