"""Named sub-agents, which other plugins offer (``AgentSource``)."""

from __future__ import annotations

import difflib

from hookline_hookspecs import Host, ToolError
from hookline_hookspecs.named_agents import AgentSource, NamedAgent


def named_agents(host: Host) -> dict[str, NamedAgent]:
    """Return them by name; the first one of a name counts."""
    found: dict[str, NamedAgent] = {}
    for source in host.services.all(AgentSource):
        for agent in source.agents():
            found.setdefault(agent.name, agent)
    return found


def find_agent(host: Host, name: str | None) -> NamedAgent | None:
    """Return the sub-agent of a name; None for no name. Raises ``ToolError`` if there is none."""
    if name is None or not name.strip():
        return None
    known = named_agents(host)
    if (found := known.get(name.strip())) is not None:
        return found
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
    raise ToolError(f"no sub-agent is called {name[:60]!r}; {hint}")


def limit_tools(allowed: frozenset[str], agent: NamedAgent | None) -> frozenset[str]:
    """Return the tools of ``allowed`` that a named sub-agent may use."""
    if agent is None:
        return allowed
    wanted = allowed if agent.tools is None else allowed.intersection(agent.tools)
    return wanted - frozenset(agent.barred)
