"""Archiving skills, by a person or because they are unused, and restoring them or a version."""

from __future__ import annotations

import asyncio

from . import safe_files
from .folders import SkillNotFound, archive_folder, archived_names, place_folder, restore_folder
from .history import snapshot
from .parts import SkillParts
from .records import ChangeSource

PERSON = ChangeSource("person")
DAY_SECONDS = 86_400.0


async def archive_skill(parts: SkillParts, name: str) -> None:
    """Archive a skill for a person. Raises ``SkillNotFound`` and ``OSError``."""
    await parts.refresh()
    async with parts.editor.locked():
        skill = parts.library.skills().get(name)
        if skill is not None and skill.plugin:
            raise SkillNotFound(
                f"{name} comes with the plugin {skill.plugin}; create a skill of that name to "
                "replace it"
            )
        if skill is not None and skill.team:
            raise SkillNotFound(
                f"{name} is the team's; create a skill of that name to replace it here, or run "
                f"`hookline skills revoke {name}` to stop the whole team from loading it"
            )
        if skill is None or not (parts.root / name / "").is_dir():
            raise SkillNotFound(f"no skill {name!r}")
        await _archive(parts, name, PERSON)


async def archive_unused_skills(parts: SkillParts, days: float) -> list[str]:
    """Archive the agent's skills that were unused for ``days``; return their names."""
    async with parts.editor.locked():
        names = await _unused_skills(parts, days)
        for name in names:
            await _archive(parts, name, ChangeSource("idle"))
    return names


async def _archive(parts: SkillParts, name: str, source: ChangeSource) -> None:
    files = await asyncio.to_thread(snapshot, parts.root / name)
    await parts.history.record(name, files, files, "archive", source)
    await asyncio.to_thread(archive_folder, parts.root, name)


async def _unused_skills(parts: SkillParts, days: float) -> list[str]:
    """The agent's skills that are not pinned and were not used or changed for ``days``."""
    skills = await asyncio.to_thread(parts.library.skills)
    pins, uses = await parts.records.pins(), await parts.records.uses()
    changed = await parts.history.last_changes()
    before = parts.host.now() - days * DAY_SECONDS
    found = []
    for name, created in (await parts.records.agent_skills(parts.root)).items():
        if name not in skills or name in pins:
            continue
        used = uses[name].last if name in uses else None
        on_disk = skills[name].stamp[0] / 1e9
        if max(created, used or 0.0, changed.get(name, 0.0), on_disk) < before:
            found.append(name)
    return found


async def restore_skill(parts: SkillParts, name: str, version: int | None) -> str:
    """Restore an archived skill, or a version; by default the last one of a deleted skill.

    Returns a sentence for the person.

    Raises:
        SkillNotFound: nothing can be restored, or a skill is in the way.
        OSError: it could not be written.
    """
    root = parts.root
    async with parts.editor.locked():
        if version is None and name in archived_names(root):
            await asyncio.to_thread(restore_folder, root, name)
            restored = name.partition("@")[0]
            files = await asyncio.to_thread(snapshot, root / restored)
            await parts.history.record(restored, files, files, "restore", PERSON)
            return f"Restored the skill {restored} from the archive."
        number = await _restore_version(parts, name, version)
        return f"Restored version {number} of the skill {name}."


async def _restore_version(parts: SkillParts, name: str, version: int | None) -> int:
    """Put the files of a version in place; return its number."""
    versions = [v for v in await parts.history.versions(name) if v.files]
    folder = parts.root / name
    if version is not None:
        versions = [v for v in versions if v.number == version]
    elif folder.exists():
        raise SkillNotFound(f"the skill {name} exists; name the version to restore")
    if not versions:
        raise SkillNotFound(f"no such version of {name!r}; see `hookline skills history {name}`")
    chosen = versions[-1]
    files = await parts.history.files(chosen)
    before = await asyncio.to_thread(snapshot, folder)
    await parts.history.record(name, before, files, "restore", PERSON)
    if not folder.exists():
        created = await parts.records.created()
        marker = created[name][0] if name in created else ""
        await asyncio.to_thread(place_folder, parts.root, name, files, marker)
        return chosen.number
    for path, data in files.items():
        if before.get(path) != data:
            await asyncio.to_thread(safe_files.write_bytes, folder, path, data)
    for path in before:
        if path not in files:
            await asyncio.to_thread(safe_files.remove, folder, path)
    return chosen.number
