"""The plugin: after a turn, it asks the auxiliary model for the session's title."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hookline_hookspecs import (
    Context,
    HooklineError,
    Message,
    Plugin,
    Session,
    TextBlock,
    ToolResultBlock,
    Turn,
    hookimpl,
)

TITLE_AFTER_MESSAGES = 2
"""Messages of the person after which a session gets a title: one is often only a greeting."""
MAX_ATTEMPTS = 2
"""Requests for the title of one session."""
EXCERPT_MESSAGES = 6
"""Messages of the session that the model is shown."""
EXCERPT_CHARS = 600
"""Characters of each of these messages."""
MAX_ANSWER_TOKENS = 200
"""A title has about twenty tokens, but a model may reason first."""
SCRIPTED = "scripted/"
"""Prefix of models that replay a file; a request for a title would use up a step."""


class Titles(Plugin):
    """Gives sessions titles."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Give the session a title, from its second message on, if it has none."""
        if ctx.session.kind != "chat" or ctx.session.title or turn.stop not in ("done", "question"):
            return
        if not ctx.host.config.auxiliary_model and ctx.model.startswith(SCRIPTED):
            return
        messages = [message for message in ctx.history if _text(message)]
        if sum(message.role == "user" for message in messages) < TITLE_AFTER_MESSAGES:
            return
        if await self._count_attempt(ctx.session.id):
            await self._set_title(ctx, messages)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Delete the count of attempts."""
        if not session.title and session.kind == "chat":
            await self.host.storage.kv.delete(session.id)

    async def _count_attempt(self, session_id: str) -> bool:
        """Count an attempt, across all processes; return False if none is left."""
        attempts = await self.host.storage.kv.get(session_id, 0)
        if attempts >= MAX_ATTEMPTS:
            return False
        await self.host.storage.kv.set(session_id, attempts + 1)
        return True

    async def _set_title(self, ctx: Context, messages: Iterable[Message]) -> None:
        prompt = f"<conversation>\n{_excerpt(messages)}\n</conversation>"
        try:
            answer = await ctx.ask_model(prompt, system=_system(), max_tokens=MAX_ANSWER_TOKENS)
        except HooklineError as error:
            self.log.info("session %s has no title: %s", ctx.session.id, error)
            return
        from .title_parser import parse_title  # imported late: it compiles patterns

        title = parse_title(answer)
        if title is None:
            self.log.info(
                "session %s has no title: the model answered %.100r", ctx.session.id, answer
            )
            return
        await self.host.storage.kv.delete(ctx.session.id)
        rows = await self.host.storage.fetch("title", id=ctx.session.id)
        if rows and not rows[0]["title"]:  # a person may have set one meanwhile
            await self.host.set_title(ctx.session.id, title)


@cache
def _system() -> str:
    return Path(__file__).with_name("title.md").read_text(encoding="utf-8")


def _text(message: Message) -> str:
    """Return the text of a message; empty if it only carries tool results."""
    if any(isinstance(block, ToolResultBlock) for block in message.blocks):
        return ""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()


def _excerpt(messages: Iterable[Message]) -> str:
    """Return the first messages, shortened, each with its role."""
    lines = []
    for message in list(messages)[:EXCERPT_MESSAGES]:
        text = _text(message)
        ellipsis = "…" if len(text) > EXCERPT_CHARS else ""
        lines.append(f"{message.role}: {text[:EXCERPT_CHARS]}{ellipsis}")
    return "\n\n".join(lines).replace("</conversation>", "")
