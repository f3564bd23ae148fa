"""The parts that the hooks, tools and commands share, each made when it is first used.

A home without skills costs the look at the folder; the rest is imported when it is needed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Host
from hookline_skillfolders import SkillFolder

from .config import SkillsConfig

if TYPE_CHECKING:
    from .editing import Editor
    from .history import History
    from .injecting import Injector
    from .library import Library
    from .records import Records
    from .viewing import Viewer


class Parts:
    """The skills of one home and what is known of them."""

    def __init__(self, config: SkillsConfig, host: Host) -> None:
        self._config = config
        self.host = host
        self.root = host.home / "skills"

    def brought(self) -> list[SkillFolder]:
        """The folders of skills of the plugins that are on."""
        return self.host.services.all(SkillFolder)

    @property
    def any(self) -> bool:
        """Whether there may be skills at all; costs a look at the home."""
        return bool(self.brought()) or self.root.is_dir()

    @cached_property
    def library(self) -> Library:
        """The skills on disk."""
        from .library import Library

        return Library(self.root, self.host.log, self.brought)

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
    def viewer(self) -> Viewer:
        """Shows skills."""
        from .authors import Authors
        from .viewing import Viewer

        return Viewer(self.library, Authors(self.host, self.library, self.history))

    @cached_property
    def injector(self) -> Injector:
        """Adds skills to a turn."""
        from .injecting import Injector

        return Injector(self.host, self._config, self.library, self.records, self.viewer)

    @cached_property
    def editor(self) -> Editor:
        """Changes skills for the agent."""
        from .editing import Editor

        return Editor(self.host, self._config, self.library, self.records, self.history)


class SkillTexts:
    """What the skills are for, to be compared by meaning; the library is loaded when asked."""

    name = "skills"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def entries(self) -> list[tuple[str, str, str]]:
        """See :class:`hookline_hookspecs.Corpus`."""
        if not self._parts.any:
            return []
        return await self._parts.library.entries()
