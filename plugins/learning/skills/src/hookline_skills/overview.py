"""What a person sees of the skills: a row each, and one in detail."""

from __future__ import annotations

import asyncio
from typing import Any

from . import lock
from .library import Skill
from .parts import Parts
from .records import Origin, Use
from .upkeep import NotThere, archived
from .validation import FILES


async def overview(parts: Parts) -> list[dict[str, Any]]:
    """A row for each skill by name, then for each archived one."""
    root = parts.library.root
    await parts.refresh()
    skills = await asyncio.to_thread(parts.library.skills)
    agents, pins = await parts.records.agents(root), await parts.records.pins()
    uses, installed = await parts.records.uses(), lock.read(root)
    rows = []
    for name, skill in sorted(skills.items()):
        row = _row(
            name, skill.description, _origin(skill, agents, installed), uses.get(name, Use())
        )
        row["pinned"] = name in pins
        row["problems"] = list(skill.problems)
        row["changes"] = lock.changes(root, name)
        rows.append(row)
    for name in archived(root):
        row = _row(name, "", "agent", uses.get(name.partition("@")[0], Use()))
        rows.append({**row, "origin": "", "archived": True})
    return rows


async def details(parts: Parts, name: str, version: int | None) -> dict[str, Any]:
    """One skill in detail; as it was in ``version``, if given. Raises ``NotThere``."""
    versions = await parts.history.versions(name)
    rows = [row for row in await overview(parts) if row["name"] == name and not row["archived"]]
    skill = parts.library.skills().get(name)
    if version is not None:
        chosen = next((v for v in versions if v.number == version), None)
        if chosen is None:
            raise NotThere(f"there is no version {version} of {name!r}; see skills history")
        files = await parts.history.files(chosen)
        text = next((files[f].decode("utf-8", "replace") for f in FILES if f in files), "")
        paths = [path for path in files if path not in FILES]
    elif skill is None:
        hint = "; it is archived" if name in archived(parts.library.root) else ""
        raise NotThere(f"there is no skill {name!r}{hint}")
    else:
        text, paths = skill.text, [path for path, _ in skill.files()]
    row = rows[0] if rows else _row(name, "", "agent", Use())
    entry = lock.read(parts.library.root).get(name)
    source = f"{entry.source} {entry.revision}".strip() if entry else ""
    if skill is not None and skill.plugin:
        source = skill.plugin
    if skill is not None and skill.team:
        source = f"the team's version {skill.team}"
    return {**row, "versions": len(versions), "source": source, "files": paths, "text": text}


def _origin(skill: Skill, agents: dict[str, float], installed: dict[str, lock.Entry]) -> Origin:
    if skill.plugin or skill.team:
        return "plugin" if skill.plugin else "team"
    if skill.name in agents:
        return "agent"
    return "installed" if skill.name in installed else "hand-written"


def _row(name: str, description: str, origin: Origin, use: Use) -> dict[str, Any]:
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
