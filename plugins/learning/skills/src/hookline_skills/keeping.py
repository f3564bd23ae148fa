"""A person's changes of skills: archiving one, and restoring it or a version of it."""

from __future__ import annotations

import asyncio

from . import safely
from .editing import place
from .history import snapshot
from .parts import Parts
from .records import Source
from .upkeep import NotThere, archive, archived, bring_back

PERSON = Source("person")


async def put_away(parts: Parts, name: str) -> None:
    """Archive a skill. Raises ``NotThere`` and ``OSError``."""
    await parts.refresh()
    async with parts.editor.locked():
        skill = parts.library.skills().get(name)
        if skill is not None and skill.plugin:
            raise NotThere(
                f"{name} comes with the plugin {skill.plugin}; a skill of yours of that name "
                "takes its place"
            )
        if skill is not None and skill.team:
            raise NotThere(
                f"{name} is the team's; a skill of yours of that name lies over it, and "
                f"`hookline skills revoke {name}` has no home load it any more"
            )
        if not (parts.library.root / name / "").is_dir() or name not in parts.library.skills():
            raise NotThere(f"there is no skill {name!r}")
        files = await asyncio.to_thread(snapshot, parts.library.root / name)
        await parts.history.add(name, files, files, "archive", PERSON)
        await asyncio.to_thread(archive, parts.library.root, name)


async def restore(parts: Parts, name: str, version: int | None) -> str:
    """Restore an archived skill, or a version; by default the last one of a deleted skill.

    Raises:
        NotThere: there is nothing to bring back, or a skill is in the way.
        OSError: it could not be written.
    """
    root = parts.library.root
    async with parts.editor.locked():
        if version is None and name in archived(root):
            await asyncio.to_thread(bring_back, root, name)
            back = name.partition("@")[0]
            files = await asyncio.to_thread(snapshot, root / back)
            await parts.history.add(back, files, files, "restore", PERSON)
            return f"Restored the skill {back} from the archive."
        number = await _version_of(parts, name, version)
        return f"Restored the skill {name} as it was in version {number}."


async def _version_of(parts: Parts, name: str, version: int | None) -> int:
    """Put the files of a version in place; its number."""
    versions = [v for v in await parts.history.versions(name) if v.files]
    folder = parts.library.root / name
    if version is not None:
        versions = [v for v in versions if v.number == version]
    elif folder.exists():
        raise NotThere(f"the skill {name} is there; name the version that is to come back")
    if not versions:
        raise NotThere(f"there is no such version of {name!r}; see `hookline skills history`")
    chosen = versions[-1]
    files = await parts.history.files(chosen)
    before = await asyncio.to_thread(snapshot, folder)
    await parts.history.add(name, before, files, "restore", PERSON)
    if not folder.exists():
        made = await parts.records.made()
        marker = made[name][0] if name in made else ""
        await asyncio.to_thread(place, parts.library.root, name, files, marker)
        return chosen.number
    for path, data in files.items():
        if before.get(path) != data:
            await asyncio.to_thread(safely.write_bytes, folder, path, data)
    for path in before:
        if path not in files:
            await asyncio.to_thread(safely.remove, folder, path)
    return chosen.number
