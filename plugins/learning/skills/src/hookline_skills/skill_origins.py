"""Whose words a skill was made from: stored with its versions, never read from its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hookline_hookspecs import Host, Origin, merge_origins
from hookline_hookspecs.file_origins import origins_of
from hookline_hookspecs.stored_origins import named, strangers

from . import lockfile
from .history import SkillHistory
from .library import Skill, SkillLibrary


class SkillOrigins:
    """The origins of the skills of one home.

    Args:
        team_origins: returns the origins of the team's skills by name.
    """

    def __init__(
        self,
        host: Host,
        library: SkillLibrary,
        history: SkillHistory,
        team_origins: Callable[[], Mapping[str, tuple[Origin, ...]]],
    ) -> None:
        self._host = host
        self._library = library
        self._history = history
        self._team_origins = team_origins

    async def by_name(self) -> Mapping[str, tuple[Origin, ...]]:
        """The origins of each skill. A skill that was downloaded comes from outside."""
        found = await self._history.origins()
        if team_origins := self._team_origins():
            skills = self._library.skills()
            found |= {
                name: origins
                for name, origins in team_origins.items()
                if name in skills and skills[name].team
            }
        for name, entry in lockfile.read(self._library.root).items():
            if "://" not in entry.source:  # the operator's own folder or archive
                continue
            found[name] = merge_origins(found.get(name, ()), [Origin("outside", entry.source)])
        return found

    async def of_file(self, skill: Skill, path: str) -> tuple[Origin, ...]:
        """Where a file of a skill came from."""
        files = await origins_of(self._host, [skill.folder / path])
        return merge_origins((await self.by_name()).get(skill.name, ()), files)


def author_note(origins: tuple[Origin, ...]) -> str:
    """Who made a skill, for the model: ``by telegram:222``; empty for the operator."""
    others = strangers(origins)
    return f"by {named(others)}" if others else ""
