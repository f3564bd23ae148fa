"""Imports skills of another program (service ``Importer``), like ``install --lenient``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hookline_hookspecs import Refused
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from . import lockfile
from .folders import remove_folder
from .history import digests, snapshot
from .installer import InstallCandidate, InstallRequest, NotInstalled, SkillInstaller
from .parts import SkillParts
from .records import ChangeSource


class SkillImporter:
    """Installs folders as ``hookline skills install`` does."""

    kinds = frozenset({"skill"})

    def __init__(self, parts: SkillParts) -> None:
        self._parts = parts
        self._installer = SkillInstaller(parts.host, parts.library, parts.history, parts.editor)

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._import(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Install the skill."""
        return await self._import(item, again=again, write=True)

    async def _import(self, item: Item, *, again: bool, write: bool) -> Outcome:
        folder = Path(item.data["folder"])
        request = InstallRequest(str(folder), lenient=True)
        try:
            [candidate] = await self._installer.find_candidates(request)
        except (NotInstalled, Refused) as error:
            return Outcome("blocked", f"skills/{folder.name}", str(error))
        target = f"skills/{candidate.name}"
        hashes = digests(candidate.files)
        receipt = {"name": candidate.name, "files": hashes}
        if await asyncio.to_thread(self._existing_digests, candidate) == hashes:
            state: State = "migrated" if again else "skipped"
            return Outcome(state, target, "" if again else "already installed", receipt)
        root = self._parts.library.root
        if write:
            await asyncio.to_thread(root.mkdir, 0o700, True, True)
        try:
            if not write:
                await asyncio.to_thread(self._installer.refuse_conflict, candidate, request)
                return Outcome("planned", target, "; ".join(candidate.errors))
            await self._installer.put(candidate, request, item.source)
        except NotInstalled as error:
            return Outcome("conflict", target, str(error))
        return Outcome("migrated", target, "; ".join(candidate.errors), receipt)

    def _existing_digests(self, candidate: InstallCandidate) -> dict[str, str]:
        return digests(snapshot(self._parts.library.root / candidate.name))

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the skill unless a file of it was changed; its versions stay."""
        root, name = self._parts.library.root, receipt["name"]
        target = f"skills/{name}"
        async with self._parts.editor.locked():
            files = await asyncio.to_thread(snapshot, root / name)
            if digests(files) != receipt["files"]:
                return Outcome("migrated", target, "changed or removed since")
            await self._parts.history.record(name, files, {}, "delete", ChangeSource("person"))
            await asyncio.to_thread(remove_folder, root, name)
            await asyncio.to_thread(lockfile.forget, root, name)
        return Outcome("planned", target)
