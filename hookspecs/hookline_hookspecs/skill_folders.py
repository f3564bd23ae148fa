"""The service with which plugins provide skills.

A plugin adds a :class:`SkillFolder` with ``host.services.add(SkillFolder, …)`` in its ``setup``;
the plugin ``skills`` reads all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SkillFolder"]


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """Skills that belong to a plugin. They are available while it is on and cannot be changed.

    Attributes:
        path: a folder with a folder for each skill, in the format of agentskills.io.
        plugin: the plugin's name, as shown to people; empty for a team's skills.
        team: the version of the team's skill in it; 0 for a plugin's skills.
    """

    path: Path
    plugin: str
    team: int = 0
