"""The service by which plugins bring skills along.

A plugin offers a :class:`SkillFolder` with ``host.services.add(SkillFolder, …)`` in its ``setup``;
the plugin ``skills`` reads all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SkillFolder"]


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """Skills that belong to a plugin: they are there while it is on, and nobody changes them.

    Attributes:
        path: a folder with a folder for each skill, in the format of agentskills.io.
        plugin: the name of the plugin, which people are shown; empty for what a team shares.
        team: the version of the team's skill in it, 0 if it is a plugin's.
    """

    path: Path
    plugin: str
    team: int = 0
