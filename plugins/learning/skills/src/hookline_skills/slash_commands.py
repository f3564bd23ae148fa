"""The slash commands ``/skills`` and ``/skill NAME``."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Context, HooklineError
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_span
from hookline_hookspecs.web import tn

from .parts import SkillParts

MAX_LISTED = 50
"""Skills in one reply."""


async def list_skills(parts: SkillParts, ctx: Context, words: str) -> str:
    """List the skills, or those that match ``words``, with descriptions and uses."""
    if words:
        found = await asyncio.to_thread(parts.library.match, words, MAX_LISTED)
        skills = [skill for skill, _ in found]
    else:
        skills = list((await asyncio.to_thread(parts.library.skills)).values())
    if not skills:
        return N_(f"No skills match {words!r}.") if words else N_("No skills yet.")
    uses, pins = await parts.records.uses(), await parts.records.pins()
    lines = []
    for skill in skills[:MAX_LISTED]:
        count = uses[skill.name].count if skill.name in uses else 0
        marks = [tn("used {n} time", "used {n} times", count)] if count else []
        marks += [N_("pinned")] if skill.name in pins else []
        described = await parts.viewer.described(ctx, skill)
        lines.append(" · ".join([code_span(skill.name), *marks, described]))
    if len(skills) > MAX_LISTED:
        lines.append(N_(f"… and {len(skills) - MAX_LISTED} more; search with /skills WORDS."))
    return "\n".join(lines)


async def propose(parts: SkillParts, ctx: Context, args: str, writers: str) -> str:
    """Propose a skill to the team (``/skills propose NAME``)."""
    from .team.proposals import propose as propose_to_team

    if writers == "operator" and not ctx.operator:
        return N_("Skills can only be proposed in the operator's own chats.")
    words = args.split()
    if len(words) != 2:
        return N_("Usage: /skills propose NAME. /skills lists the names.")
    try:
        return await propose_to_team(parts, words[1], ctx=ctx)
    except HooklineError as error:
        return N_(f"{words[1][:80]} was not proposed: {error}")


async def complete_name(parts: SkillParts, typed: str) -> list[tuple[str, str]]:
    """Return the names that contain ``typed`` with their descriptions; those that begin with it
    come first."""
    skills = await asyncio.to_thread(parts.library.skills)
    prefix = typed.strip().casefold()
    names = sorted(name for name in skills if prefix in name.casefold())
    names.sort(key=lambda name: not name.casefold().startswith(prefix))
    return [(name, " ".join(skills[name].description.split())) for name in names]


async def request_skill(parts: SkillParts, ctx: Context, name: str) -> str:
    """Request a skill for the next message of this session."""
    if not name:
        return N_("Usage: /skill NAME. /skills lists the names.")
    skill = await asyncio.to_thread(parts.library.find, name)
    if skill is None:
        found = await asyncio.to_thread(parts.library.match, name.replace("-", " "), 3)
        similar = ", ".join(one.name for one, _ in found)
        missing = N_(f"No skill {name[:80]!r}.")
        return f"{missing} {N_(f'Similar: {similar}.')}" if similar else missing
    await parts.injector.request(ctx, skill.name)
    return N_(f"The skill {skill.name} will be sent with your next message.")
