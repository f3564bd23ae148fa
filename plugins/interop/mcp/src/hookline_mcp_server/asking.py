"""Turns that callers ask for, and the questions that come up in them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Conversations, Host, Inbound, Origin, Question, ToolError
from hookline_hookspecs.channels import Channel

from .config import McpServerConfig
from .reading import Reader, fitting

CHANNEL = "mcp"
DENY, ONCE = "Deny", "Once"
LONGEST = 100_000
"""Characters of a prompt."""
PATIENCE = 280.0
"""Seconds for which a question waits for an answer; a hook has 300 (CONTRACT)."""


@dataclass(slots=True)
class Waiting:
    """An approval that a caller may answer."""

    session: str
    question: Question
    answer: asyncio.Future[str]
    id: str = field(default_factory=lambda: uuid4().hex[:12])

    def shown(self) -> dict[str, Any]:
        """The question as an event."""
        question = self.question
        told = {"type": "question", "id": self.id, "session": self.session, "text": question.text}
        return told | {"preview": question.preview, "choices": [ONCE, DENY]}


class McpChannel(Channel):
    """The channel of the turns that callers ask for; the caller gets the
    reply as the result of its call."""

    name = CHANNEL
    edits = False
    network = False

    async def start(self) -> None:
        """Nothing is received."""

    async def wait(self) -> None:
        """Nothing ends it."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Nothing is received."""

    async def send(self, reply: Any) -> None:
        """Nobody waits for a reply whose call is gone."""


class Asker:
    """Runs turns for callers.

    Args:
        host: the plugin's host.
        config: the plugin's settings.
        reader: what callers may see.
    """

    def __init__(self, host: Host, config: McpServerConfig, reader: Reader) -> None:
        self._host = host
        self._config = config
        self._reader = reader
        self._open: dict[str, Waiting] = {}

    async def ask(self, caller: str, prompt: str, session: str | None) -> dict[str, Any]:
        """Run one turn and return its answer. Raises ``ToolError`` for what is no prompt and for a
        session that is not the callers'."""
        if not prompt.strip() or len(prompt) > LONGEST:
            raise ToolError(f"prompt is 1 to {LONGEST:,} characters")
        if prompt.lstrip().startswith("/"):
            raise ToolError("a prompt is for the model; slash commands are for people")
        if session is not None:
            await self._own(session)
        inbound = Inbound(
            CHANNEL,
            caller,
            caller,
            uuid4().hex,
            prompt,
            received=self._host.now(),
            session_id=session or f"mcp-{uuid4().hex[:12]}",
            private=True,
            origins=() if self._config.trust else (Origin("outside", f"MCP caller ({caller})"),),
        )
        conversations = self._host.services[Conversations]
        responds = "permissions_respond" in self._config.allow
        try:
            done = await conversations.submit(inbound, "ask" if responds else "no")
        except asyncio.CancelledError:
            await asyncio.shield(conversations.stop(inbound))
            raise
        await done.mark_delivered()
        turn = done.turn
        told: dict[str, Any] = {"session": turn.session.id, "stop": turn.stop, "text": turn.reply}
        told["tool_calls"] = [{"name": one.call.name, "ok": one.ok} for one in turn.tool_calls]
        if done.undelivered:
            told["earlier"] = [fitting(text, 4000) for text in done.undelivered[:3]]
        if done.question is not None:
            told["choices"] = list(done.question.choices)
        return told

    async def _own(self, session: str) -> None:
        row = await self._reader.session(session)
        if row["channel"] != CHANNEL:
            raise ToolError(
                f"session {row['id'][:80]!r} belongs to {row['channel']}; ask_agent goes on only "
                "with its own sessions, messages_read shows the others"
            )

    # Questions

    async def put(self, session: str, question: Question) -> str:
        """Show an approval to callers and return the answer; nobody's is no."""
        waiting = Waiting(session, question, asyncio.get_running_loop().create_future())
        self._open[waiting.id] = waiting
        try:
            async with asyncio.timeout(PATIENCE):
                return await waiting.answer
        except TimeoutError:
            return DENY
        finally:
            del self._open[waiting.id]

    def questions(self) -> list[dict[str, Any]]:
        """Return the approvals that wait, as events."""
        return [one.shown() for one in self._open.values()]

    def respond(self, question: str, choice: str) -> str:
        """Answer an approval. Raises ``ToolError`` if none of that id waits."""
        waiting = self._open.get(question)
        if waiting is None or waiting.answer.done():
            raise ToolError(f"no question {question[:40]!r} waits; events_wait shows those that do")
        if choice not in (ONCE, DENY):
            raise ToolError(f"choice is {ONCE} or {DENY}; whoever runs Hookline may grant more")
        waiting.answer.set_result(choice)
        return f"Answered: {choice}."
