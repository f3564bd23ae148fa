"""The objects that hooks, tools and commands share, each created when first used.

For a home without skills only the folder is checked; the other modules are not imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Host
from hookline_hookspecs.skill_folders import SkillFolder, SkillSource

from .config import SkillsConfig

if TYPE_CHECKING:
    from .editor import SkillEditor
    from .history import SkillHistory
    from .injector import SkillInjector
    from .library import SkillLibrary
    from .records import SkillRecords
    from .skill_origins import SkillOrigins
    from .team.proposal_checks import ProposalChecks
    from .team.team_skills import TeamSkills
    from .viewer import SkillViewer


class SkillParts:
    """The objects that work on the skills of one home."""

    def __init__(self, config: SkillsConfig, host: Host) -> None:
        self._config = config
        self.host = host
        self.root = host.home / "skills"

    def plugin_folders(self) -> list[SkillFolder]:
        """The folders of skills that the team and enabled plugins bring."""
        team = self.team.folders() if self.team is not None else []
        services = self.host.services
        offered = [folder for source in services.all(SkillSource) for folder in source.folders()]
        return [*team, *services.all(SkillFolder), *offered]

    @property
    def may_have_skills(self) -> bool:
        """False if there are no skills; checks only whether folders exist."""
        return self.team is not None or bool(self.plugin_folders()) or self.root.is_dir()

    @cached_property
    def team(self) -> TeamSkills | None:
        """The team's skills; None if no team is configured."""
        if self._config.team is None:
            return None
        from .team.team_skills import TeamSkills

        return TeamSkills(self.host, self._config, self.root, self._hand_over_to_team)

    async def _hand_over_to_team(self, name: str, files: Mapping[str, bytes]) -> None:
        """Remove a skill of this home that is the team's now; its files are kept as a version."""
        from .folders import remove_folder
        from .records import ChangeSource

        async with self.editor.locked():
            await self.history.record(name, files, {}, "team", ChangeSource("person"))
            await asyncio.to_thread(remove_folder, self.root, name)

    async def refresh(self) -> None:
        """Load what the team approved, and unload what it revoked."""
        if self.team is not None:
            await self.team.refresh()

    @cached_property
    def proposal_checks(self) -> ProposalChecks:
        """The checks that a version must pass before it goes to the team."""
        from .team.proposal_checks import ProposalChecks

        return ProposalChecks(self.host, self.library, self._config.skill_max_chars)

    @cached_property
    def library(self) -> SkillLibrary:
        """The skills on disk."""
        from .library import SkillLibrary

        withheld = self.team.withheld if self.team is not None else dict
        return SkillLibrary(self.root, self.host.log, self.plugin_folders, withheld)

    @cached_property
    def records(self) -> SkillRecords:
        """Who made them, pins and uses."""
        from .records import SkillRecords

        return SkillRecords(lambda: self.host.storage, self.host.now)

    @cached_property
    def history(self) -> SkillHistory:
        """Their versions."""
        from .history import SkillHistory

        return SkillHistory(lambda: self.host.storage, self.host.now, self._config.versions)

    @cached_property
    def origins(self) -> SkillOrigins:
        """Whose words the skills were made from."""
        from .skill_origins import SkillOrigins

        team_origins = self.team.origins if self.team is not None else dict
        return SkillOrigins(self.host, self.library, self.history, team_origins)

    @cached_property
    def viewer(self) -> SkillViewer:
        """Shows skills."""
        from .viewer import SkillViewer

        return SkillViewer(self.library, self.origins)

    @cached_property
    def injector(self) -> SkillInjector:
        """Adds skills to a turn."""
        from .injector import SkillInjector

        return SkillInjector(self.host, self._config, self.library, self.records, self.viewer)

    @cached_property
    def editor(self) -> SkillEditor:
        """Changes skills for the agent."""
        from .editor import SkillEditor

        library, history, team = self.library, self.history, self.team
        return SkillEditor(self.host, self._config, library, self.records, history, team)


class SkillCorpus:
    """The texts of the skills for semantic search; loads the library when first asked."""

    name = "skills"

    def __init__(self, parts: SkillParts) -> None:
        self._parts = parts

    async def entries(self) -> list[tuple[str, str, str]]:
        """See :class:`hookline_hookspecs.SearchableCorpus`."""
        if not self._parts.may_have_skills:
            return []
        return await self._parts.library.entries()
