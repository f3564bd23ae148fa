"""The plugin: the command ``/reasoning``, and the fields of each request of a chat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    Plugin,
    Session,
    ThinkingBlock,
    WireRequest,
    command,
    hookimpl,
)
from hookline_hookspecs.conversations import SessionCopyListener
from hookline_hookspecs.optional_services import ReasoningLevels
from hookline_hookspecs.sentences import N_
from pydantic import BaseModel, Field

from .styles import LEVELS, Level, Style, style_of, supports, with_level

DEFAULT = "default"
LEVEL_KEY = "level"
"""The turn's stash key for the level of its chat."""
CACHE_NOTE = N_(
    "The next message is not read from the provider's cache, which keeps a conversation for one "
    "level; the system prompt and the tools stay cached."
)


class ReasoningConfig(BaseModel):
    """Settings under ``plugins: {reasoning: …}``."""

    default: Level | None = Field(
        None,
        title="Default level",
        description="Level for chats that have none of their own; null leaves it to the model.",
    )
    models: dict[str, Style] = Field(
        default_factory=dict,
        title="Additional models",
        description=(
            "Models missing from the built-in list or wrong in it: a pattern for provider/model, "
            "and its style (effort, effort-always, openrouter, anthropic-adaptive, "
            "anthropic-adaptive-always, anthropic-budget, none)."
        ),
    )


class Reasoning(Plugin[ReasoningConfig]):
    """Stores a level for each session, and sends it with the requests of its turns.

    The session of a chat in which a level was chosen last decides what its later ones begin with.
    """

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``ReasoningLevels``."""
        host.services.provide(ReasoningLevels, self)
        host.services.add(SessionCopyListener, self)

    async def level(self, session: Session) -> str:
        """The level of a session; empty if the model decides."""
        stored = await self._stored(session)
        return (stored if stored in LEVELS else self.config.default) or ""

    async def session_copied(self, session: Session, copy: Session) -> None:
        """Let a copy of a session have its level (SessionCopyListener)."""
        stored = await self._stored(session)
        await self.host.storage.kv.set(_session_key(copy), stored or DEFAULT)

    async def _stored(self, session: Session) -> str | None:
        """The level that was chosen for a session, or :data:`DEFAULT`; None if none was.

        A session without its own begins with what its chat last had, which it keeps.
        """
        kv = self.host.storage.kv
        if session.id and (own := await kv.get(_session_key(session))) is not None:
            return str(own)
        last = await kv.get(_chat_key(session))
        if not isinstance(last, dict) or (session.id and session.created < last["since"]):
            return None
        if session.id:
            await kv.set(_session_key(session), last["level"])
        return str(last["level"])

    async def _complete(self, session_id: str, typed: str) -> Sequence[tuple[str, str]]:
        return [(level, "") for level in (*LEVELS, DEFAULT) if level.startswith(typed.casefold())]

    # Not immediate: a model that has started to think cannot stop within a turn.
    @command("/reasoning", audience="everyone", category="Model and safety", complete=_complete)
    async def command(self, ctx: Context, args: str) -> str:
        """Show or choose how much the model thinks: /reasoning off, low, medium, high, default."""
        name = args.strip().casefold()
        before, style = await self._level(ctx), style_of(ctx.model, self.config.models)
        if not name:
            return self._describe(ctx.model, style, before)
        if name not in (*LEVELS, DEFAULT):
            return f"Unknown level {args.strip()[:20]!r}. Try off, low, medium, high or default."
        level: Any = None if name == DEFAULT else name
        if level is not None and not supports(style, level):
            return self._refusal(ctx.model, style)
        await self._store(ctx.session, level)
        level = level or self.config.default
        note = (
            CACHE_NOTE if style.startswith("anthropic") and ctx.history and level != before else ""
        )
        return f"{self._describe(ctx.model, style, level)} {note}".strip()

    def _describe(self, model: str, style: Style, level: Level | None) -> str:
        if level is None:
            return N_(f"Reasoning: the default of {model}.")
        if supports(style, level):
            return N_(f"Reasoning: {level} ({model}).")
        return f"{N_(f'Reasoning: {level}, but not sent.')} {self._refusal(model, style)}"

    def _refusal(self, model: str, style: Style) -> str:
        if style != "none":
            return N_(f"{model} always reasons; the lowest level is low.")
        unknown = N_(f"It is not known whether {model} accepts a reasoning level.")
        key = f'plugins: {{reasoning: {{models: {{"{model}": effort}}}}}}'
        return f"{unknown} {N_(f'If it does, set its style in config.yaml: {key}.')}"

    @hookimpl
    async def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest | None:
        """Set the level in a request of a turn; its prefix does not change."""
        if wire.purpose != "turn":
            return None
        if LEVEL_KEY not in ctx.stash:
            ctx.stash[LEVEL_KEY] = await self._level(ctx)
        level: Level | None = ctx.stash[LEVEL_KEY]
        style = style_of(wire.model, self.config.models)
        if level is None or not supports(style, level):
            return None
        if style == "anthropic-budget" and level != "off" and _started_without_thinking(ctx):
            level = "off"
        return replace(wire, fields=with_level(style, level, wire.fields))

    async def _level(self, ctx: Context) -> Level | None:
        try:
            stored = await self._stored(ctx.session)
        except HooklineError as error:
            self.log.warning("the level of reasoning cannot be read: %s", error)
            stored = None
        return stored if stored in LEVELS else self.config.default

    async def _store(self, session: Session, level: Level | None) -> None:
        kv = self.host.storage.kv
        if session.id:
            await kv.set(_session_key(session), level or DEFAULT)
        last = {"level": level or DEFAULT, "since": self.host.now()}
        await kv.set(_chat_key(session), last)


def _session_key(session: Session) -> str:
    return f"session:{session.parent_id or session.id}"


def _chat_key(session: Session) -> str:
    return "chat:" + json.dumps([session.channel, session.chat_id])


def _started_without_thinking(ctx: Context) -> bool:
    """Return whether another model made the turn's calls without thinking.

    With a budget, the API accepts only a loop that started with thinking.
    """
    called = [message for message in ctx.turn.messages if message.tool_calls]
    return bool(called) and not any(
        isinstance(block, ThinkingBlock) and (block.signature or block.redacted)
        for block in called[-1].blocks
    )
