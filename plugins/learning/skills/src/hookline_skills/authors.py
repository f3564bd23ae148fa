"""Whose words a skill was made from: kept with its versions, never read from its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hookline_hookspecs import Host, Origin, merge_origins
from hookline_hookspecs.file_origins import origins_of
from hookline_hookspecs.stored_origins import named, strangers

from . import lock
from .history import History
from .library import Library, Skill


class Authors:
    """Asked of the skills of one home."""

    def __init__(
        self,
        host: Host,
        library: Library,
        history: History,
        shared: Callable[[], Mapping[str, tuple[Origin, ...]]] = dict,
    ) -> None:
        self._host = host
        self._library = library
        self._history = history
        self._shared = shared

    async def known(self) -> Mapping[str, tuple[Origin, ...]]:
        """The origins by skill; of one that was fetched its source, which is
        outside."""
        found = await self._history.origins()
        if shared := self._shared():
            own = self._library.skills()
            found |= {name: made for name, made in shared.items() if name in own and own[name].team}
        for name, entry in lock.read(self._library.root).items():
            if "://" not in entry.source:  # a folder of the operator's
                continue
            found[name] = merge_origins(found.get(name, ()), [Origin("outside", entry.source)])
        return found

    async def of(self, skill: Skill, path: str) -> tuple[Origin, ...]:
        """Where a file of a skill came from."""
        files = await origins_of(self._host, [skill.folder / path])
        return merge_origins((await self.known()).get(skill.name, ()), files)


def by(origins: tuple[Origin, ...]) -> str:
    """Who made a skill, for whoever reads it: ``by telegram:222``; empty for the operator."""
    others = strangers(origins)
    return f"by {named(others)}" if others else ""
