"""Rows for lists of skills, and the details of one, as commands and pages show them."""

from __future__ import annotations

import asyncio
from typing import Any

from . import lockfile
from .folders import SkillNotFound, archived_names
from .library import Skill
from .parts import SkillParts
from .records import SkillSource, SkillUse
from .validation import MAIN_FILES


async def overview(parts: SkillParts) -> list[dict[str, Any]]:
    """Return a row for each skill by name, then one for each archived skill."""
    root = parts.library.root
    await parts.refresh()
    skills = await asyncio.to_thread(parts.library.skills)
    agents = await parts.records.agent_skills(root)
    pins = await parts.records.pins()
    uses = await parts.records.uses()
    installed = lockfile.read(root)
    rows = []
    for name, skill in sorted(skills.items()):
        row = _row(
            name,
            skill.description,
            _source_of(skill, agents, installed),
            uses.get(name, SkillUse()),
        )
        row["pinned"] = name in pins
        row["problems"] = list(skill.problems)
        row["changes"] = lockfile.describe_changes(root, name)
        rows.append(row)
    for name in archived_names(root):
        row = _row(name, "", "agent", uses.get(name.partition("@")[0], SkillUse()))
        rows.append({**row, "origin": "", "archived": True})
    return rows


async def details(parts: SkillParts, name: str, version: int | None) -> dict[str, Any]:
    """Return the details of a skill, as of ``version`` if given. Raises ``SkillNotFound``."""
    versions = await parts.history.versions(name)
    rows = [row for row in await overview(parts) if row["name"] == name and not row["archived"]]
    skill = parts.library.skills().get(name)
    if version is not None:
        chosen = next((v for v in versions if v.number == version), None)
        if chosen is None:
            raise SkillNotFound(
                f"no version {version} of {name!r}; see `hookline skills history {name}`"
            )
        files = await parts.history.files(chosen)
        text = next((files[f].decode("utf-8", "replace") for f in MAIN_FILES if f in files), "")
        paths = [path for path in files if path not in MAIN_FILES]
    elif skill is None:
        hint = "; it is archived" if name in archived_names(parts.library.root) else ""
        raise SkillNotFound(f"no skill {name!r}{hint}")
    else:
        text, paths = skill.text, [path for path, _ in skill.files()]
    row = rows[0] if rows else _row(name, "", "agent", SkillUse())
    entry = lockfile.read(parts.library.root).get(name)
    source = f"{entry.source} {entry.revision}".strip() if entry else ""
    if skill is not None and skill.plugin:
        source = skill.plugin
    if skill is not None and skill.team:
        source = f"the team's version {skill.team}"
    return {**row, "versions": len(versions), "source": source, "files": paths, "text": text}


def _source_of(
    skill: Skill, agents: dict[str, float], installed: dict[str, lockfile.InstalledSkill]
) -> SkillSource:
    if skill.plugin or skill.team:
        return "plugin" if skill.plugin else "team"
    if skill.name in agents:
        return "agent"
    return "installed" if skill.name in installed else "hand-written"


def _row(name: str, description: str, origin: SkillSource, use: SkillUse) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "origin": origin,
        "pinned": False,
        "archived": False,
        "uses": use.count,
        "last_used": use.last,
        "problems": [],
        "changes": [],
    }
