"""Adds skills to a message's context, unless they are there already."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Iterable

from hookline_hookspecs import (
    Context,
    ContextBlock,
    Host,
    Message,
    Origin,
    Refused,
    SemanticIndex,
    Turn,
    fuse,
    merge_origins,
)

from .config import SkillsConfig
from .library import Library, Skill
from .matching import least
from .records import How, Records
from .viewing import KIND, Viewer

TAG, ITEM = "skills", "skill"
TOKEN = 4
"""Characters of a token, as core estimates it."""
_INJECTED = re.compile(rf'<{ITEM} name="([^"]*)">')


class Injector:
    """Adds matched skills, and those a person asked for, to the context of a turn."""

    def __init__(
        self, host: Host, config: SkillsConfig, library: Library, records: Records, viewer: Viewer
    ) -> None:
        self._host = host
        self._config = config
        self._library = library
        self._records = records
        self._viewer = viewer

    async def ask(self, ctx: Context, name: str) -> None:
        """Send a skill with the session's next message."""
        asked = await self._asked(ctx)
        if name not in asked:
            await self._host.storage.kv.set(_key(ctx), [*asked, name])

    async def block(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return the skills of this turn, without those whose block is still sent."""
        wanted = await self._wanted(ctx, turn.inbound.text)
        live = injected(ctx.history)
        items: list[tuple[str, str]] = []
        origins: tuple[Origin, ...] = ()
        room = self._config.budget_tokens * TOKEN
        for skill, how in wanted:
            if skill.name in live:
                continue
            text = await self._text(ctx, skill)
            if text is None:
                continue
            if len(text) > room:
                self._say_too_long(ctx, skill, how)
                continue
            room -= len(text)
            items.append((skill.name, text))
            origins = merge_origins(origins, await self._viewer.authors.of(skill, skill.file))
            await self._records.activate(ctx, skill.name, how)
        if not items:
            return None
        return ContextBlock(TAG, items=tuple(items), item_tag=ITEM, origins=origins)

    async def _wanted(self, ctx: Context, text: str) -> list[tuple[Skill, How]]:
        """Return the requested skills, then the matching ones, best first, without duplicates."""
        wanted: dict[str, tuple[Skill, How]] = {}
        asked = await self._asked(ctx)
        if asked:
            await self._host.storage.kv.delete(_key(ctx))
            skills = await asyncio.to_thread(self._library.skills)
            wanted = {name: (skills[name], "asked") for name in asked if name in skills}
        if self._config.matches:
            for skill in await self._matching(text):
                wanted.setdefault(skill.name, (skill, "injected"))
        return list(wanted.values())

    async def _matching(self, text: str) -> list[Skill]:
        """The skills that fit a text by their words, and by their meaning where a plugin can
        tell."""
        most = self._config.matches
        found = await asyncio.to_thread(self._library.match, text, max(most, 2))
        enough = least([score for _, score in found], self._config.threshold)
        fitting = {skill.name: skill for skill, score in found[:most] if score >= enough}
        likeness = self._host.services.get(SemanticIndex)
        if likeness is None:
            return list(fitting.values())
        near = await likeness.nearest(self._library.name, text, limit=most)
        alike = [name for name, one in near.items() if one >= 1]
        if any(name not in fitting for name in alike):
            fitting = await asyncio.to_thread(self._library.skills) | fitting
        names = fuse([s.name for s, score in found[:most] if score >= enough], alike)
        return [fitting[name] for name in names if name in fitting][:most]

    async def _asked(self, ctx: Context) -> list[str]:
        found: list[str] = await self._host.storage.kv.get(_key(ctx), [])
        return found

    async def _text(self, ctx: Context, skill: Skill) -> str | None:
        try:
            text = await ctx.read(skill.body, f"skills/{skill.name}/{skill.file}", KIND)
        except Refused as error:
            ctx.notify(f"The skill {skill.name} is blocked: {error}")
            return None
        files = await asyncio.to_thread(self._viewer.files, skill)
        return "\n\n".join(part for part in (text.strip(), files) if part)

    def _say_too_long(self, ctx: Context, skill: Skill, how: How) -> None:
        if how == "asked":
            ctx.notify(
                f"The skill {skill.name} does not fit into {self._config.budget_tokens} tokens; "
                "the model can read it with skill_view."
            )


def injected(history: Iterable[Message]) -> set[str]:
    """Return the skills whose text is sent with a message of the history. What others put into a
    context is escaped, so that it cannot look like one."""
    return {
        html.unescape(name)
        for message in history
        if message.context
        for name in _INJECTED.findall(message.context)
    }


def _key(ctx: Context) -> str:
    return f"asked/{ctx.session.id}"
