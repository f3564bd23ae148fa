"""The lines by which the model knows the sub-agents of bundles."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Context, Refused
from hookline_hookspecs.named_agents import NamedAgent

from .config import BundlesConfig

HEADER = "Sub-agents for delegate(agent=NAME):"
MAX_CHARS = 280
"""Characters of all lines together, unless names alone need more."""
MIN_LINE_CHARS = 8
MAX_LINE_CHARS = 120
"""Characters of a description."""


async def agent_lines(ctx: Context, agents: Sequence[NamedAgent], config: BundlesConfig) -> str:
    """Return one line for each sub-agent; empty without any."""
    lines = []
    listed = agents[: config.max_agent_lines]
    names = sum(len(agent.name) + 5 for agent in listed)
    share = (MAX_CHARS - len(HEADER) - names) // max(1, len(listed))
    longest = min(MAX_LINE_CHARS, max(MIN_LINE_CHARS, share))
    for agent in listed:
        try:
            about = await ctx.read(
                agent.description, f"bundles/{agent.source}/agents/{agent.name}", kind="skill"
            )
        except Refused:
            continue
        about = " ".join(about.split())
        short = about if len(about) <= longest else f"{about[: longest - 1]}…"
        lines.append(f"- {agent.name}: {short}")
    return "\n".join([HEADER, *lines]) if lines else ""
