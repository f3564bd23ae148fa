"""The plugin: the command ``/reasoning``, and the fields of each request of a chat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    Context,
    HooklineError,
    Plugin,
    ThinkingBlock,
    WireRequest,
    command,
    hookimpl,
)
from pydantic import BaseModel, Field

from .styles import LEVELS, Level, Style, can, fields, style_of

DEFAULT = "default"
CHOSEN = "level"
"""The turn's state: the level that its chat has."""
ANEW = (
    " The provider keeps a conversation in its cache for one setting, so the next message is read "
    "anew once; the system prompt and the tools stay cached."
)


class ReasoningConfig(BaseModel):
    """Settings under ``plugins: {reasoning: …}``."""

    default: Level | None = Field(
        None, description="The level of a chat that has chosen none; null leaves it to the model."
    )
    models: dict[str, Style] = Field(
        default_factory=dict,
        description="Models that the packaged list does not know, or knows wrongly: a pattern of "
        "provider/model, and how it is told (effort, effort-always, openrouter, "
        "anthropic-adaptive, anthropic-adaptive-always, anthropic-budget, none).",
    )


class Reasoning(Plugin[ReasoningConfig]):
    """Keeps a level for each chat, and sends it with the requests of its turns."""

    async def _complete(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        return [(level, "") for level in (*LEVELS, DEFAULT) if level.startswith(typed.casefold())]

    # Not immediate: within a turn, a model that has begun to think would have to go on without.
    @command("/reasoning", audience="everyone", category="Model and safety", complete=_complete)
    async def command(self, ctx: Context, args: str) -> str:
        """Show how much the model thinks, or choose: /reasoning off, low, medium, high, default."""
        wanted = args.strip().casefold()
        before, style = await self._level(ctx), style_of(ctx.model, self.config.models)
        if not wanted:
            return self._shown(ctx.model, style, before)
        if wanted not in (*LEVELS, DEFAULT):
            return (
                f"There is no level {args.strip()[:20]!r}; write off, low, medium, high or default."
            )
        level: Any = None if wanted == DEFAULT else wanted
        if level is not None and not can(style, level):
            return self._refusal(ctx.model, style)
        await self._keep(ctx, level)
        level = level or self.config.default
        anew = ANEW if style.startswith("anthropic") and ctx.history and level != before else ""
        return self._shown(ctx.model, style, level) + anew

    def _shown(self, model: str, style: Style, level: Level | None) -> str:
        if level is None:
            return f"Reasoning: as {model} does by itself."
        if can(style, level):
            return f"Reasoning: {level} ({model})."
        return f"Reasoning: {level}, but it is not sent: {self._refusal(model, style)}"

    def _refusal(self, model: str, style: Style) -> str:
        if style != "none":
            return f"{model} always reasons; the least is low."
        return (
            f"{model} is not known to take a level of reasoning. If it does, say how in "
            f'config.yaml: plugins: {{reasoning: {{models: {{"{model}": effort}}}}}}.'
        )

    @hookimpl
    async def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest | None:
        """Set the fields of a request of a turn; its prefix stays as it is."""
        if wire.purpose != "turn":
            return None
        if CHOSEN not in ctx.stash:
            ctx.stash[CHOSEN] = await self._level(ctx)
        level: Level | None = ctx.stash[CHOSEN]
        style = style_of(wire.model, self.config.models)
        if level is None or not can(style, level):
            return None
        if style == "anthropic-budget" and level != "off" and _began_without(ctx):
            level = "off"
        return replace(wire, fields=fields(style, level, wire.fields))

    # What is stored

    async def _level(self, ctx: Context) -> Level | None:
        try:
            found = await self.host.storage.kv.get(_key(ctx))
        except HooklineError as error:
            self.log.warning("the level of reasoning cannot be read: %s", error)
            found = None
        return found if found in LEVELS else self.config.default

    async def _keep(self, ctx: Context, level: Level | None) -> None:
        kv = self.host.storage.kv
        await (kv.set(_key(ctx), level) if level else kv.delete(_key(ctx)))


def _key(ctx: Context) -> str:
    return "chat:" + json.dumps([ctx.session.channel, ctx.session.chat_id])


def _began_without(ctx: Context) -> bool:
    """Whether the turn's calls were made without thinking, by another model: with a budget the API
    takes only a loop that began with it."""
    called = [message for message in ctx.turn.messages if message.tool_calls]
    return bool(called) and not any(
        isinstance(block, ThinkingBlock) and (block.signature or block.redacted)
        for block in called[-1].blocks
    )
