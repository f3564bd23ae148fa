"""The tools that callers see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from hookline_hookspecs import (
    Conversations,
    GatewayHost,
    HooklineError,
    Host,
    Refused,
    Reply,
    Session,
    Tool,
    ToolError,
)
from hookline_hookspecs.audit import note
from hookline_hookspecs.secrets import redacted
from pydantic import Field

from .agent_turns import AgentTurns
from .config import McpServerConfig
from .plugin_tools import call_tool, list_skills
from .session_reader import DEFAULT_PAGE, DEFAULT_WAIT, MAX_TEXTS_CHARS, SessionReader, truncate

MAX_ANSWER_CHARS = 50_000
"""Characters of an answer."""
CUT_NOTICE = (
    "\n[… {count} characters left out; ask for less, or read the session with messages_read]"
)
READ_TOOLS = (
    *("sessions_list", "messages_read", "session_search", "memory_recall"),
    *("skills_list", "skill_view", "events_wait"),
)
SENDING_TOOL = "messages_send"
"""The one that changes something by itself: the turn of ``ask_agent``, and the call that
``permissions_respond`` approves, pass the guards themselves."""
MAX_MESSAGE_CHARS = 10_000
"""Characters of a message sent to a chat."""

Cursor = Annotated[str | None, Field(max_length=500)]
Name = Annotated[str, Field(max_length=500)]
Query = Annotated[str, Field(max_length=4000)]


class CallerTools:
    """The tools for one kind of caller.

    Args:
        host: the plugin's host.
        config: the plugin's settings.
        turns: runs turns.
        reader: reads sessions.
        caller: ``stdio`` or ``http``.
    """

    def __init__(
        self,
        host: Host,
        config: McpServerConfig,
        turns: AgentTurns,
        reader: SessionReader,
        caller: str,
    ) -> None:
        self._host = host
        self._turns = turns
        self._reader = reader
        self._caller = caller
        named = (*READ_TOOLS, "ask_agent", *dict.fromkeys(config.allow))
        self._tools = {name: self._tool(name) for name in named}

    def _tool(self, name: str) -> Tool:
        return Tool.from_function(getattr(self, name), read_only=name != SENDING_TOOL)

    def tools(self) -> Sequence[Tool]:
        """Return the tools that config allows."""
        return tuple(self._tools.values())

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Return whether a call succeeded, and its answer without secrets of this home."""
        try:
            if (tool := self._tools.get(name)) is None:
                raise ToolError(f"unknown tool {name[:80]!r}. Tools: {', '.join(self._tools)}")
            checked = tool.check(arguments)
            self._note(name, "called")
            await self._host.services[Conversations].check_outside_turn(tool, checked)
            answer = await tool.run(**checked)
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            is_ok = True
        except HooklineError as error:
            if isinstance(error, Refused):
                self._note(name, "denied")
            is_ok = False
            text = f"Error: {error}"
        except Exception:
            self._host.log.exception("a call of %s failed", name[:80])
            is_ok = False
            text = f"Error: {name[:80]} failed. See Hookline's log."
        return is_ok, _truncate_answer(redacted(text))

    def _note(self, name: str, verdict: str) -> None:
        note(self._host, "tool", name, verdict, actor=f"mcp:{self._caller}")

    async def sessions_list(
        self, cursor: Cursor = None, limit: int = DEFAULT_PAGE
    ) -> dict[str, Any]:
        """List conversations, most recently used first.

        Args:
            cursor: next_cursor of the previous answer
            limit: at most 200
        """
        return await self._reader.sessions(cursor, limit)

    async def messages_read(
        self, session: Name, cursor: Cursor = None, limit: int = DEFAULT_PAGE
    ) -> dict[str, Any]:
        """Read a conversation, oldest message first.

        Args:
            session: an id from sessions_list
            cursor: next_cursor of the previous answer
            limit: at most 200
        """
        return await self._reader.messages(session, cursor, limit)

    async def session_search(self, query: Query, limit: int = 5, around: int = 0) -> str:
        """Find messages of earlier conversations that hold every word of the query.

        Args:
            limit: at most 20
            around: messages shown before and after each, at most 5
        """
        if not self._reader.sees_all:
            raise ToolError("config limits which chats are shown, so search is not available")
        return await call_tool(
            self._host, "session_search", query=query, scope="all", limit=limit, around=around
        )

    async def memory_recall(self, query: Query) -> str:
        """Find facts that the agent remembers for its operator."""
        return await call_tool(self._host, "memory", action="recall", query=query)

    async def skills_list(self, words: Query = "") -> str:
        """List the agent's skills.

        Args:
            words: only those that match
        """
        return await list_skills(self._host, self._host.services[Conversations].commands(), words)

    async def skill_view(self, name: Name, file: Name | None = None) -> str:
        """Read a skill, or one of its files."""
        more = {} if file is None else {"file": file}
        return await call_tool(self._host, "skill_view", name=name, **more)

    async def events_wait(
        self, cursor: Cursor = None, limit: int = DEFAULT_PAGE, seconds: float = DEFAULT_WAIT
    ) -> dict[str, Any]:
        """Wait for new messages in any conversation, and for questions of ask_agent's turns.

        Args:
            cursor: cursor of the previous answer; without one, returns a cursor that means now
            seconds: at most 50
        """
        return await self._reader.wait(cursor, limit, seconds, self._turns.questions)

    async def ask_agent(self, prompt: str, session: Name | None = None) -> dict[str, Any]:
        """Have the agent work on a prompt with its own tools, and return its answer.

        Args:
            session: an earlier conversation of ask_agent to continue; by default a new one
        """
        answer = await self._turns.ask(self._caller, prompt, session)
        text = answer["text"]
        answer["text"] = truncate(text, MAX_TEXTS_CHARS)
        if left := len(text) - len(answer["text"]):
            answer["text"] += CUT_NOTICE.format(count=left)
        return answer

    async def messages_send(self, session: Name, text: str) -> str:
        """Send a message to the chat of a conversation, in the agent's name.

        Args:
            session: an id from sessions_list
        """
        row = await self._reader.session(session)
        if not text.strip() or len(text) > MAX_MESSAGE_CHARS:
            raise ToolError(f"text must have 1 to {MAX_MESSAGE_CHARS:,} characters")
        channels = [one for one in self._host.channels() if one.name == row["channel"]]
        channel = next((one for one in channels if one.network), None)
        if channel is None:
            raise ToolError(f"cannot send to channel {row['channel']} of that session here")
        where = Session(row["id"], row["channel"], row["chat_id"], row["title"], self._host.now())
        await self._host.services[GatewayHost].post(Reply(where, redacted(text), kind="notice"))
        return f"Queued for {row['channel']}:{row['chat_id']}."

    async def permissions_respond(self, question: Name, choice: Name) -> str:
        """Answer an approval that a turn of ask_agent waits for.

        Args:
            question: its id in events_wait
            choice: Allow once or Deny
        """
        return self._turns.respond(question, choice)


def _truncate_answer(text: str) -> str:
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    kept = MAX_ANSWER_CHARS - 200
    return text[:kept] + CUT_NOTICE.format(count=len(text) - kept)
