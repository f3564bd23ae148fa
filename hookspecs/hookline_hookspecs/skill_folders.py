"""The services with which plugins provide skills.

A plugin adds a :class:`SkillFolder` with ``host.services.add(SkillFolder, …)`` in its ``setup``, or
a :class:`SkillSource` if the folders change while Hookline runs; the plugin ``skills`` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["SkillFolder", "SkillSource"]


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """Skills that belong to a plugin. They are available while it is on and cannot be changed.

    Attributes:
        path: a folder with a folder for each skill, in the format of agentskills.io.
        plugin: the plugin's name, as shown to people; empty for a team's skills.
        team: the version of the team's skill in it; 0 for a plugin's skills.
        namespace: precedes the names, as in ``namespace:skill``; empty for none.
        names: the folders that are used; empty for all.
    """

    path: Path
    plugin: str
    team: int = 0
    namespace: str = ""
    names: tuple[str, ...] = ()


class SkillSource(Protocol):
    """Offers folders of skills that may change."""

    def folders(self) -> Sequence[SkillFolder]:
        """Return the folders that there are now."""
        return ()
