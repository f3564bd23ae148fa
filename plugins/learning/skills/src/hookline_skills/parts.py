"""The parts that the hooks, tools and commands share, each made when it is first used.

A home without skills costs the look at the folder; the rest is imported when it is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Host
from hookline_hookspecs.skill_folders import SkillFolder

from .config import SkillsConfig

if TYPE_CHECKING:
    from .authors import Authors
    from .editing import Editor
    from .history import History
    from .injecting import Injector
    from .library import Library
    from .records import Records
    from .team.doors import Doors
    from .team.shared import Team
    from .viewing import Viewer


class Parts:
    """The skills of one home and what is known of them."""

    def __init__(self, config: SkillsConfig, host: Host) -> None:
        self._config = config
        self.host = host
        self.root = host.home / "skills"

    def brought(self) -> list[SkillFolder]:
        """The folders of the team's skills, and of those of the plugins that are on."""
        shared = self.team.folders() if self.team is not None else []
        return [*shared, *self.host.services.all(SkillFolder)]

    @property
    def any(self) -> bool:
        """Whether there may be skills at all; costs a look at the home."""
        return self.team is not None or bool(self.brought()) or self.root.is_dir()

    @cached_property
    def team(self) -> Team | None:
        """What the team shares; None if no store of a team is set."""
        if self._config.team is None:
            return None
        from .team.shared import Team

        return Team(self.host, self._config, self.root, self._put_away)

    async def _put_away(self, name: str, files: Mapping[str, bytes]) -> None:
        """Remove a skill of this home, which is the team's now; its files stay a version."""
        from .editing import discard
        from .records import Source

        async with self.editor.locked():
            await self.history.add(name, files, {}, "team", Source("person"))
            await asyncio.to_thread(discard, self.root, name)

    async def refresh(self) -> None:
        """Take in what the team has approved or revoked meanwhile."""
        if self.team is not None:
            await self.team.refresh()

    @cached_property
    def doors(self) -> Doors:
        """What a version passes on its way to the team."""
        from .team.doors import Doors

        return Doors(self.host, self.library, self._config.skill_max_chars)

    @cached_property
    def library(self) -> Library:
        """The skills on disk."""
        from .library import Library

        withheld = self.team.withheld if self.team is not None else dict
        return Library(self.root, self.host.log, self.brought, withheld)

    @cached_property
    def records(self) -> Records:
        """What is known of them beside their files."""
        from .records import Records

        return Records(lambda: self.host.storage, self.host.now)

    @cached_property
    def history(self) -> History:
        """Their versions."""
        from .history import History

        return History(lambda: self.host.storage, self.host.now, self._config.versions)

    @cached_property
    def authors(self) -> Authors:
        """Whose words the skills are."""
        from .authors import Authors

        shared = self.team.origins if self.team is not None else dict
        return Authors(self.host, self.library, self.history, shared)

    @cached_property
    def viewer(self) -> Viewer:
        """Shows skills."""
        from .viewing import Viewer

        return Viewer(self.library, self.authors)

    @cached_property
    def injector(self) -> Injector:
        """Adds skills to a turn."""
        from .injecting import Injector

        return Injector(self.host, self._config, self.library, self.records, self.viewer)

    @cached_property
    def editor(self) -> Editor:
        """Changes skills for the agent."""
        from .editing import Editor

        library, history, team = self.library, self.history, self.team
        return Editor(self.host, self._config, library, self.records, history, team)


class SkillTexts:
    """What the skills are for, to be compared by meaning; the library is loaded when asked."""

    name = "skills"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def entries(self) -> list[tuple[str, str, str]]:
        """See :class:`hookline_hookspecs.SearchableCorpus`."""
        if not self._parts.any:
            return []
        return await self._parts.library.entries()
