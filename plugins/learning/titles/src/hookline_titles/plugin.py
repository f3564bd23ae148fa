"""The plugin: after a turn, it asks the auxiliary model for the title of the conversation."""

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

FROM_MESSAGE = 2
"""The number of the person's message after which a conversation is named (FEATURES, titles)."""
TRIES = 2
"""How many times a model is asked for the title of one conversation."""
MOST_MESSAGES, MOST_CHARS = 6, 600
"""How many messages of a conversation are shown, and how many characters of each."""
MOST_TOKENS = 200
"""The most tokens of an answer: a title has about twenty, and a model may reason first."""
SCRIPTED = "scripted/"
"""A model that replays a file. Asking it for a title would use up a step."""


class Titles(Plugin):
    """Names conversations."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Give the conversation a title, from its second message on, if it has none."""
        if ctx.session.kind != "chat" or ctx.session.title or turn.stop not in ("done", "question"):
            return
        if not ctx.host.config.auxiliary_model and ctx.model.startswith(SCRIPTED):
            return
        said = [message for message in ctx.history if _words(message)]
        if sum(message.role == "user" for message in said) < FROM_MESSAGE:
            return
        if await self._may_try(ctx.session.id):
            await self._name(ctx, said)

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Delete the count of tries."""
        if not session.title and session.kind == "chat":
            await self.host.storage.kv.delete(session.id)

    async def _may_try(self, session_id: str) -> bool:
        """Count a try, across all processes."""
        tried = await self.host.storage.kv.get(session_id, 0)
        if tried >= TRIES:
            return False
        await self.host.storage.kv.set(session_id, tried + 1)
        return True

    async def _name(self, ctx: Context, said: Iterable[Message]) -> None:
        prompt = f"<conversation>\n{_excerpt(said)}\n</conversation>"
        try:
            answer = await ctx.ask_model(prompt, system=_system(), max_tokens=MOST_TOKENS)
        except HooklineError as error:
            self.log.info("session %s has no title: %s", ctx.session.id, error)
            return
        from .clean import clean  # its patterns are compiled when there is a title

        title = clean(answer)
        if title is None:
            self.log.info("session %s has no title: %.100r is none", ctx.session.id, answer)
            return
        await self.host.storage.kv.delete(ctx.session.id)
        rows = await self.host.storage.fetch("title", id=ctx.session.id)
        if rows and not rows[0]["title"]:  # a person may have set one meanwhile, in any process
            await self.host.set_title(ctx.session.id, title)


@cache
def _system() -> str:
    return Path(__file__).with_name("title.md").read_text(encoding="utf-8")


def _words(message: Message) -> str:
    """Return the text of a message; empty if it only carries tool results."""
    if any(isinstance(block, ToolResultBlock) for block in message.blocks):
        return ""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()


def _excerpt(said: Iterable[Message]) -> str:
    """Return the first messages, shortened, each with its role."""
    lines = []
    for message in list(said)[:MOST_MESSAGES]:
        words = _words(message)
        more = "…" if len(words) > MOST_CHARS else ""
        lines.append(f"{message.role}: {words[:MOST_CHARS]}{more}")
    return "\n\n".join(lines).replace("</conversation>", "")
