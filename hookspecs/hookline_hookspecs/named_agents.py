"""The service with which a plugin offers named sub-agents to the tool ``delegate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["AgentSource", "NamedAgent"]


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """A sub-agent that the model calls with ``delegate(agent=NAME)``.

    Attributes:
        name: unique among those that are offered; the first one counts.
        description: what it is for, which the model reads.
        instruction: its system prompt.
        tools: the only tools that it may use; None for those of every sub-agent.
        barred: tools that it may not use.
        model: ``provider/model``; None for the session's.
        max_iterations: its model calls; None for the configured limit, which is never exceeded.
        source: who offers it, as shown to people.
    """

    name: str
    description: str
    instruction: str
    tools: tuple[str, ...] | None = None
    barred: tuple[str, ...] = ()
    model: str | None = None
    max_iterations: int | None = None
    source: str = ""


class AgentSource(Protocol):
    """Offers sub-agents; add one with ``host.services.add(AgentSource, …)`` in ``setup``."""

    def agents(self) -> Sequence[NamedAgent]:
        """Return the sub-agents that there are now."""
        return ()
