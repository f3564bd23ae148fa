"""Takes in skills of another program (service ``Importer``), as leniently as ``--lenient``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hookline_hookspecs import Refused
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from . import lock
from .editing import discard
from .history import snapshot
from .installing import Candidate, Installer, NotInstalled, Wish
from .parts import Parts
from .records import Source


class SkillImporter:
    """Installs a folder as ``hookline skills install`` does; nothing of it is run."""

    kinds = frozenset({"skill"})

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._installer = Installer(parts.host, parts.library, parts.history, parts.editor)

    async def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Install the skill."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        folder = Path(item.data["folder"])
        wish = Wish(str(folder), lenient=True)
        try:
            [candidate] = await self._installer.judged(wish)
        except (NotInstalled, Refused) as error:
            return Outcome("blocked", f"skills/{folder.name}", str(error))
        target = f"skills/{candidate.name}"
        digests = lock.digests(candidate.files)
        receipt = {"name": candidate.name, "files": digests}
        if await asyncio.to_thread(self._there, candidate) == digests:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else "it is here already", receipt)
        root = self._parts.library.root
        if write:
            await asyncio.to_thread(root.mkdir, 0o700, True, True)
        try:
            if not write:
                await asyncio.to_thread(self._installer.refuse_conflict, candidate, wish)
                return Outcome("planned", target, "; ".join(candidate.errors))
            await self._installer.put(candidate, wish, item.source)
        except NotInstalled as error:
            return Outcome("conflict", target, str(error))
        return Outcome("migrated", target, "; ".join(candidate.errors), receipt)

    def _there(self, candidate: Candidate) -> dict[str, str]:
        return lock.digests(snapshot(self._parts.library.root / candidate.name))

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the skill, unless one of its files was changed; its versions stay."""
        root, name = self._parts.library.root, receipt["name"]
        target = f"skills/{name}"
        async with self._parts.editor.locked():
            files = await asyncio.to_thread(snapshot, root / name)
            if lock.digests(files) != receipt["files"]:
                return Outcome("migrated", target, "it was changed or removed since")
            await self._parts.history.add(name, files, {}, "delete", Source("person"))
            await asyncio.to_thread(discard, root, name)
            await asyncio.to_thread(lock.drop, root, name)
        return Outcome("planned", target)
