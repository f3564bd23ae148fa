"""The answers of ``/skills`` and ``/skill NAME``, on every channel."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Context, HooklineError

from .parts import Parts

SHOWN = 50
"""Skills in one answer."""


async def listing(parts: Parts, ctx: Context, words: str) -> str:
    """Return the skills with their descriptions and uses."""
    if words:
        found = await asyncio.to_thread(parts.library.match, words, SHOWN)
        skills = [skill for skill, _ in found]
    else:
        skills = list((await asyncio.to_thread(parts.library.skills)).values())
    if not skills:
        return f"No skill fits {words!r}." if words else "There are no skills yet."
    uses, pins = await parts.records.uses(), await parts.records.pins()
    lines = []
    for skill in skills[:SHOWN]:
        count = uses[skill.name].count if skill.name in uses else 0
        marks = [f"used {count}×"] if count else []
        marks += ["pinned"] if skill.name in pins else []
        mark = f" ({', '.join(marks)})" if marks else ""
        lines.append(f"{skill.name}{mark}: {await parts.viewer.described(ctx, skill)}")
    if len(skills) > SHOWN:
        lines.append(f"… and {len(skills) - SHOWN} more; /skills WORDS finds them.")
    return "\n".join(lines)


async def propose(parts: Parts, ctx: Context, args: str, writers: str) -> str:
    """Offer a skill to the team; the answer to ``/skills propose NAME``."""
    from .team.proposing import propose as offer

    if writers == "operator" and not ctx.operator:
        return "Skills are proposed only in the operator's own chats."
    words = args.split()
    if len(words) != 2:
        return "Write /skills propose and the name of one skill; /skills lists them."
    try:
        return await offer(parts, words[1], ctx=ctx)
    except HooklineError as error:
        return f"{words[1][:80]} was not proposed: {error}"


async def offered(parts: Parts, typed: str) -> list[tuple[str, str]]:
    """Return the names that contain ``typed`` with their descriptions, what begins so first."""
    skills = await asyncio.to_thread(parts.library.skills)
    wanted = typed.strip().casefold()
    names = sorted(name for name in skills if wanted in name.casefold())
    names.sort(key=lambda name: not name.casefold().startswith(wanted))
    return [(name, " ".join(skills[name].description.split())) for name in names]


async def ask_for(parts: Parts, ctx: Context, name: str) -> str:
    """Request a skill for the next message of this session."""
    if not name:
        return "Write /skill and the name of one; /skills lists them."
    skill = await asyncio.to_thread(parts.library.find, name)
    if skill is None:
        found = await asyncio.to_thread(parts.library.match, name.replace("-", " "), 3)
        near = ", ".join(one.name for one, _ in found)
        return f"There is no skill {name[:80]!r}." + (f" Near: {near}." if near else "")
    await parts.injector.ask(ctx, skill.name)
    return f"The skill {skill.name} goes along with your next message."
