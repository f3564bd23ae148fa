"""Runs turns for callers, and the approvals that come up in them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Conversations, Host, Inbound, Origin, Question, ToolError
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.questions import ALLOW_ONCE, DENY

from .config import McpServerConfig
from .session_reader import SessionReader, truncate

CHANNEL = "mcp"
MAX_PROMPT_CHARS = 100_000
"""Characters of a prompt."""
ANSWER_TIMEOUT = 280.0
"""Seconds to wait for an answer; callers of a tool often give up after 300."""


CHOICES = (ALLOW_ONCE, DENY)
"""The choices that a caller has: what lasts longer is for the operator."""


@dataclass(slots=True)
class PendingApproval:
    """An approval that a caller may answer."""

    session: str
    question: Question
    answer: asyncio.Future[str]

    @property
    def id(self) -> str:
        """The id of the stored question."""
        return self.question.id

    def to_event(self) -> dict[str, Any]:
        """Return the question as an event."""
        question = self.question
        event = {"type": "question", "id": self.id, "session": self.session, "text": question.text}
        return event | {"preview": question.preview, "choices": list(CHOICES)}


class McpChannel(Channel):
    """The channel of callers' turns. The caller gets the reply as the result of its call."""

    name = CHANNEL
    edits = False
    network = False

    async def start(self) -> None:
        """Do nothing: the channel receives no messages."""

    async def wait(self) -> None:
        """Wait forever."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Do nothing: the channel receives no messages."""

    async def send(self, reply: Any) -> None:
        """Drop a reply whose call has ended."""


class AgentTurns:
    """Runs turns for callers.

    Args:
        host: the plugin's host.
        config: the plugin's settings.
        reader: what callers may see.
    """

    def __init__(self, host: Host, config: McpServerConfig, reader: SessionReader) -> None:
        self._host = host
        self._config = config
        self._reader = reader
        self._open: dict[str, PendingApproval] = {}

    async def ask(self, caller: str, prompt: str, session: str | None) -> dict[str, Any]:
        """Run one turn and return its answer.

        Raises:
            ToolError: the prompt is invalid, or the session is not one of ``ask_agent``.
        """
        if not prompt.strip() or len(prompt) > MAX_PROMPT_CHARS:
            raise ToolError(f"prompt must have 1 to {MAX_PROMPT_CHARS:,} characters")
        if prompt.lstrip().startswith("/"):
            raise ToolError("slash commands are not available here; write a prompt for the model")
        if session is not None:
            await self._require_own_session(session)
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
        answer: dict[str, Any] = {"session": turn.session.id, "stop": turn.stop, "text": turn.reply}
        answer["tool_calls"] = [{"name": one.call.name, "ok": one.ok} for one in turn.tool_calls]
        if done.undelivered:
            answer["earlier"] = [truncate(text, 4000) for text in done.undelivered[:3]]
        if done.question is not None:
            answer["choices"] = list(done.question.choices)
        return answer

    async def _require_own_session(self, session: str) -> None:
        row = await self._reader.session(session)
        if row["channel"] != CHANNEL:
            raise ToolError(
                f"session {row['id'][:80]!r} belongs to {row['channel']}; ask_agent continues only "
                "its own sessions. Use messages_read for others"
            )

    async def ask_caller(self, session: str, question: Question) -> str:
        """Show an approval to callers and return the answer; ``Deny`` if none comes in time."""
        waiting = PendingApproval(session, question, asyncio.get_running_loop().create_future())
        self._open[waiting.id] = waiting
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                return await waiting.answer
        except TimeoutError:
            return DENY
        finally:
            del self._open[waiting.id]

    def questions(self) -> list[dict[str, Any]]:
        """Return the open approvals as events."""
        return [one.to_event() for one in self._open.values()]

    def respond(self, question: str, choice: str) -> str:
        """Answer an approval. Raises ``ToolError`` if there is no open one with that id."""
        waiting = self._open.get(question)
        if waiting is None or waiting.answer.done():
            raise ToolError(f"no open question {question[:40]!r}; events_wait lists open questions")
        if choice not in CHOICES:
            named = " or ".join(CHOICES)
            raise ToolError(f"choice must be {named}; only the operator can grant more")
        waiting.answer.set_result(choice)
        return f"Answered: {choice}."
