"""Adds skills to a message's context, unless the session's history still contains them."""

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
    Turn,
    merge_origins,
)

from .config import SkillsConfig
from .library import Skill, SkillLibrary
from .matcher import SkillMatcher
from .records import SkillRecords, UseKind
from .viewer import KIND, SkillViewer

CONTEXT_TAG = "skills"
ITEM_TAG = "skill"
CHARS_PER_TOKEN = 4
"""Core's estimate."""
_SENT_SKILL = re.compile(rf'<{ITEM_TAG} name="([^"]*)">')


class SkillInjector:
    """Adds matching skills, and those a person requested, to the context of a turn."""

    def __init__(
        self,
        host: Host,
        config: SkillsConfig,
        library: SkillLibrary,
        records: SkillRecords,
        viewer: SkillViewer,
    ) -> None:
        self._host = host
        self._config = config
        self._library = library
        self._records = records
        self._viewer = viewer
        self._matcher = SkillMatcher(host, config, library)

    async def request(self, ctx: Context, name: str) -> None:
        """Send a skill with the session's next message."""
        requested = await self._requested(ctx)
        if name not in requested:
            await self._host.storage.kv.set(_request_key(ctx), [*requested, name])

    async def context_block(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return the skills of this turn, except those the history still contains."""
        selected = await self._select(ctx, turn.inbound.text)
        sent = sent_skills(ctx.history)
        items: list[tuple[str, str]] = []
        origins: tuple[Origin, ...] = ()
        chars_left = self._config.budget_tokens * CHARS_PER_TOKEN
        for skill, kind in selected:
            if skill.name in sent:
                continue
            text = await self._text(ctx, skill)
            if text is None:
                continue
            if len(text) > chars_left:
                self._notify_too_long(ctx, skill, kind)
                continue
            chars_left -= len(text)
            items.append((skill.name, text))
            origins = merge_origins(origins, await self._viewer.origins.of_file(skill, skill.file))
            await self._records.record_use(ctx, skill.name, kind)
        if not items:
            return None
        return ContextBlock(CONTEXT_TAG, items=tuple(items), item_tag=ITEM_TAG, origins=origins)

    async def _select(self, ctx: Context, text: str) -> list[tuple[Skill, UseKind]]:
        """Return the requested skills, then the matching ones, best first, without duplicates."""
        selected: dict[str, tuple[Skill, UseKind]] = {}
        requested = await self._requested(ctx)
        if requested:
            await self._host.storage.kv.delete(_request_key(ctx))
            skills = await asyncio.to_thread(self._library.skills)
            selected = {name: (skills[name], "asked") for name in requested if name in skills}
        for skill in await self._matcher.match(text):
            selected.setdefault(skill.name, (skill, "injected"))
        return list(selected.values())

    async def _requested(self, ctx: Context) -> list[str]:
        found: list[str] = await self._host.storage.kv.get(_request_key(ctx), [])
        return found

    async def _text(self, ctx: Context, skill: Skill) -> str | None:
        try:
            text = await ctx.read(skill.body, f"skills/{skill.name}/{skill.file}", KIND)
        except Refused as error:
            ctx.notify(f"The skill {skill.name} is blocked: {error}")
            return None
        files = await asyncio.to_thread(self._viewer.files, skill)
        return "\n\n".join(part for part in (text.strip(), files) if part)

    def _notify_too_long(self, ctx: Context, skill: Skill, kind: UseKind) -> None:
        if kind == "asked":
            ctx.notify(
                f"The skill {skill.name} does not fit into {self._config.budget_tokens} tokens; "
                "the model can read it with skill_view."
            )


def sent_skills(history: Iterable[Message]) -> set[str]:
    """Return the skills that the contexts of the history contain. Other text in a context is
    escaped and cannot pass for a skill."""
    return {
        html.unescape(name)
        for message in history
        if message.context
        for name in _SENT_SKILL.findall(message.context)
    }


def _request_key(ctx: Context) -> str:
    return f"asked/{ctx.session.id}"
