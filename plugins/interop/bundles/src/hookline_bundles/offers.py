"""Offers to other plugins what the bundles in use bring: skills, sub-agents and MCP servers.

Commands are in :mod:`.slash_commands`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hookline_hookspecs.mcp_servers import OfferedServer
from hookline_hookspecs.named_agents import NamedAgent
from hookline_hookspecs.skill_folders import SkillFolder

from .bundle import BundleAgent
from .capabilities import hosts_of
from .config import BundlesConfig
from .library import BundleLibrary, BundleStatus

_INHERITS = ("", "inherit", "default")


class BundleParts:
    """Implements ``SkillSource``, ``AgentSource`` and ``ServerSource``."""

    def __init__(self, library: BundleLibrary, config: BundlesConfig) -> None:
        self._library = library
        self._config = config

    def folders(self) -> Sequence[SkillFolder]:
        """Return the folders of skills, each with the names of those that are used."""
        found: dict[tuple[str, str], list[str]] = {}
        for status in self._library.active:
            assert status.bundle is not None
            for skill in status.bundle.skills:
                key = status.name, str(skill.folder.parent)
                found.setdefault(key, []).append(skill.folder.name)
        return [
            SkillFolder(Path(parent), "bundles", namespace=name, names=tuple(names))
            for (name, parent), names in found.items()
        ]

    def agents(self) -> Sequence[NamedAgent]:
        """Return the sub-agents; the second of a name is called ``bundle:name``."""
        found: dict[str, NamedAgent] = {}
        for status in self._library.active:
            assert status.bundle is not None
            for agent in status.bundle.agents:
                name = agent.name if agent.name not in found else f"{status.name}:{agent.name}"
                found.setdefault(name, self._agent(name, agent, status))
        return list(found.values())

    def _agent(self, name: str, agent: BundleAgent, status: BundleStatus) -> NamedAgent:
        return NamedAgent(
            name,
            agent.description,
            agent.instruction,
            tools=agent.tools,
            barred=agent.barred,
            model=self.model(agent.model),
            max_iterations=agent.max_turns or None,
            source=status.name,
        )

    def model(self, written: str) -> str | None:
        """Return ``provider/model``; None for the session's, also for a name that is not known."""
        if written.lower() in _INHERITS:
            return None
        if written in self._config.models:
            return self._config.models[written]
        return written if "/" in written else None

    def servers(self) -> Sequence[OfferedServer]:
        """Return the MCP servers, which the plugin ``mcp`` starts once a person allows them."""
        found = []
        for status in self._library.active:
            assert status.bundle is not None
            for server in status.bundle.servers:
                found.append(
                    OfferedServer(
                        server.name,
                        server.entry,
                        f"bundle {status.name}",
                        status.bundle.version,
                        f"sha256 {status.sha256}",
                        str(status.bundle.root),
                        str(status.bundle.data),
                        expands=status.bundle.format != "agent-plugins",
                        hosts=tuple(hosts_of(status.bundle)),
                    )
                )
        return found
