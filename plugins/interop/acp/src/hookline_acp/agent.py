"""The agent that an editor talks to: the methods of the protocol."""

from __future__ import annotations

import asyncio
import getpass
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError, schema
from hookline_channelkit import MediaStore
from hookline_hookspecs import (
    CommandError,
    Conversations,
    HooklineError,
    Host,
    Inbound,
    Inspection,
    Mode,
    Modes,
    Submission,
    Usage,
)

from .calls import fenced
from .feed import Feed
from .pipes import Pipes
from .prompts import Said, read_prompt, wrong
from .replay import replayed
from .servers import entries, lend
from .sessions import CHANNEL, CHAT, EditorSession, Open, Prompt
from .unsaved import Unsaved

MEANING: dict[Mode, str] = {
    "ask": "Every call that changes anything asks first.",
    "auto": "Only what is risky asks.",
    "plan": "Nothing is changed; it plans.",
}
"""The modes that an editor offers; ``yolo`` is for the command line only."""
STOPS: dict[str, schema.StopReason] = {
    "stopped": "cancelled",
    "max_iterations": "max_turn_requests",
    "denied": "refusal",
}
STOPPED = "Stopped."
"""What core says of a turn that was stopped; the stop reason tells it."""
NOT_FOUND, FAILED = -32002, -32603
"""The protocol's codes for what is not there, and for what went wrong."""
NOT_IN_THIS = (
    "This session began without MCP servers, and its tools stay as they were; a new session "
    "has those of the editor's servers."
)
PAGE = 50
"""Sessions of one answer of ``session/list``."""
PATIENCE = 10.0
"""Seconds in which a turn ends whose editor is gone."""
LONGEST_NAME = 200


class Agent:
    """Answers the requests of one editor.

    Args:
        host: the plugin's host.
        pipes: the connection.
        feed: tells the editor what happens.
        opened: the sessions that it has open.
        mode: the mode of new sessions; empty for the one that config chooses.
    """

    def __init__(self, host: Host, pipes: Pipes, feed: Feed, opened: Open, mode: str) -> None:
        self._host, self._pipes, self._feed, self._open = host, pipes, feed, opened
        self._mode = mode
        self.unsaved: Unsaved | None = None
        """Learns whether the editor offers its files."""
        self._media = MediaStore(host, "acp")
        self._user = _user()
        self._tasks: set[asyncio.Task[Any]] = set()
        feed.stop = self._stop_soon

    @property
    def _conversations(self) -> Conversations:
        return self._host.services[Conversations]

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Say what this agent can do; the version is the one there is."""
        fs = client_capabilities.fs if client_capabilities is not None else None
        if self.unsaved is not None:
            self.unsaved.offered = bool(fs and fs.read_text_file)
        from importlib.metadata import version

        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(
                    image=True, audio=False, embedded_context=True
                ),
                mcp_capabilities=schema.McpCapabilities(http=True, sse=False),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
            agent_info=schema.Implementation(
                name="hookline", title="Hookline", version=version("hookline")
            ),
        )

    # Sessions

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        """Begin a session; nothing of it is stored before the first prompt."""
        workspace = _folder(cwd)
        self._check_model()
        now = time.localtime(self._host.now())
        session_id = f"{time.strftime('%Y%m%d', now)}-{uuid4().hex[:8]}"
        session = EditorSession(session_id, workspace, session_id, session_id)
        session.servers = entries(mcp_servers)
        problems = lend(self._host, session_id, session.servers)
        if self._mode:
            await self._give_mode(session, self._mode)
        modes = await self._modes(session)
        self._open.add(session)
        self._pipes.after(session_id, lambda: self._greet(session, problems))
        return schema.NewSessionResponse(session_id=session_id, modes=modes)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Open a stored session, and tell all of it."""
        session, problems = await self._opened(cwd, session_id, mcp_servers)
        messages = await self._host.messages(session.current)
        for update in replayed(messages, session.workspace):
            self._feed.send(session, update)
        self._greet(session, problems)
        return schema.LoadSessionResponse(modes=await self._modes(session))

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.ResumeSessionResponse:
        """Open a stored session whose messages the editor has."""
        session, problems = await self._opened(cwd, session_id, mcp_servers)
        self._greet(session, problems)
        return schema.ResumeSessionResponse(modes=await self._modes(session))

    async def _opened(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None
    ) -> tuple[EditorSession, list[str]]:
        workspace = _folder(cwd)
        rows = await self._host.storage.fetch("conversation", id=_name(session_id))
        known = self._open.get(session_id)
        if known is not None and known.prompts:
            raise wrong(f"session {session_id} is answering a prompt; cancel it first")
        if not rows and known is None:
            raise RequestError(
                NOT_FOUND,
                f"there is no session {session_id[:80]}; session/list has those there are",
            )
        self._check_model()
        if rows:
            await self._conversations.reopen(session_id)
        if known is not None:
            self._open.drop(known)
        session = EditorSession(session_id, workspace, session_id, session_id)
        session.title = rows[0]["title"] if rows else None
        session.servers = entries(mcp_servers)
        problems = lend(self._host, session_id, session.servers)
        if session.servers and not problems and not await self._reaches_servers(session_id):
            problems = [NOT_IN_THIS]
        self._open.add(session)
        return session, problems

    async def _reaches_servers(self, session_id: str) -> bool:
        """Whether the tools of a session, which stay as they were, find those of MCP servers."""
        stable = await self._host.services[Inspection].prompt(session_id)
        return stable is None or any(one.name == "mcp_find" for one in stable.tools)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Return stored sessions, those of the terminal too, the last used first."""
        updated, after = _place(cursor)
        workspace = str(_real(cwd)) if cwd else ""
        rows = await self._host.storage.fetch(
            "conversations", workspace=workspace, updated=updated, id=after, most=PAGE + 1
        )
        shown = [
            schema.SessionInfo(
                session_id=row["id"],
                cwd=row["workspace"] or str(self._host.paths.workspace),
                title=_line(row["title"] or row["first_words"] or ""),
                updated_at=datetime.fromtimestamp(row["updated"], UTC).isoformat(),
            )
            for row in rows[:PAGE]
        ]
        last = rows[PAGE - 1] if len(rows) > PAGE else None
        following = f"{last['updated']!r}~{last['id']}" if last else None
        return schema.ListSessionsResponse(sessions=shown, next_cursor=following)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """End what is under way in a session and forget it; what was said stays stored."""
        session = self._session(session_id)
        await self._stop(session)
        for name in {session_id, session.current}:
            lend(self._host, name, ())
        self._open.drop(session)
        return schema.CloseSessionResponse()

    def _greet(self, session: EditorSession, problems: Sequence[str]) -> None:
        self._feed.commands(session, self._feed.all_commands)
        for problem in problems:
            self._feed.think(session, f"{problem}\n")

    # Modes

    async def set_session_mode(
        self, mode_id: str, session_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Change how freely the session acts; a turn under way follows at its next call."""
        await self._give_mode(self._session(session_id), mode_id)
        return schema.SetSessionModeResponse()

    async def _give_mode(self, session: EditorSession, mode: str) -> None:
        modes = self._host.services.get(Modes)
        if modes is None or mode not in MEANING:
            known = ", ".join(MEANING) if modes is not None else "none: the plugin modes is off"
            raise wrong(f"there is no mode {mode[:40]!r}; there are {known}")
        try:
            for name in dict.fromkeys((session.target, session.current)):
                await modes.set(name, mode)
        except (HooklineError, CommandError) as error:
            raise RequestError(FAILED, getattr(error, "text", str(error))) from None
        session.mode = mode

    async def _modes(self, session: EditorSession) -> schema.SessionModeState | None:
        modes = self._host.services.get(Modes)
        if modes is None:
            return None
        session.mode = await modes.get(session.current)
        names = MEANING if session.mode in MEANING else {**MEANING, "yolo": "Nothing asks."}
        shown = [
            schema.SessionMode(id=one, name=one.capitalize(), description=meaning)
            for one, meaning in names.items()
        ]
        return schema.SessionModeState(current_mode_id=session.mode, available_modes=shown)

    # Prompts

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        """Answer a prompt; another one in the same session waits for it."""
        session = self._session(session_id)
        asked = Prompt(self._inbound(session))
        session.prompts.add(asked)
        try:
            said = await read_prompt(prompt, session.workspace, self._media)
            asked.embedded = tuple(said.embedded)
            if session.prompt is not None and self._is_immediate(said.text):
                return await self._beside(session, asked, said)
            async with session.turn:
                if asked.cancelled:
                    return schema.PromptResponse(stop_reason="cancelled")
                asked.inbound = self._inbound(session, asked.inbound.message_id, said)
                session.prompt = asked
                try:
                    return await self._answer(session, asked)
                finally:
                    session.prompt = None
        finally:
            session.prompts.discard(asked)

    def _is_immediate(self, text: str) -> bool:
        """True for a command that does not wait for the turn under way, such as ``/stop``."""
        word = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
        return any(
            one.immediate and word in (one.name, *one.aliases)
            for one in self._conversations.commands()
        )

    async def _beside(
        self, session: EditorSession, asked: Prompt, said: Said
    ) -> schema.PromptResponse:
        inbound = self._inbound(session, asked.inbound.message_id, said)
        submission = await self._conversations.submit(inbound, "ask")
        if text := submission.turn.reply:
            self._feed.say(session, fenced(text) if "\n" in text else text, str(uuid4()))
        await submission.mark_delivered()
        await self._feed.settle(session)
        return schema.PromptResponse(stop_reason="end_turn")

    def _inbound(
        self, session: EditorSession, message_id: str = "", said: Said | None = None
    ) -> Inbound:
        return Inbound(
            CHANNEL,
            CHAT,
            self._user,
            message_id or uuid4().hex,
            said.text if said else "",
            attachments=tuple(said.attachments) if said else (),
            received=self._host.now(),
            session_id=session.target,
            private=True,
            sender=self._user,
            workspace=session.workspace,
        )

    async def _answer(self, session: EditorSession, asked: Prompt) -> schema.PromptResponse:
        work = asyncio.ensure_future(self._conversations.submit(asked.inbound, "ask"))
        try:
            submission = await asyncio.shield(work)
        except asyncio.CancelledError:
            # The editor is gone: nobody reads the answer, and nobody could approve.
            asked.cancelled = True
            await self._conversations.stop(asked.inbound)
            await asyncio.wait([work], timeout=PATIENCE)
            raise
        except HooklineError as error:
            raise RequestError(FAILED, str(error)) from None
        finally:
            self._feed.interrupted(session, asked)
        return await self._told(session, asked, submission)

    async def _told(
        self, session: EditorSession, asked: Prompt, submission: Submission
    ) -> schema.PromptResponse:
        turn = submission.turn
        for text in submission.undelivered:
            self._feed.say(session, f"{text}\n\n", str(uuid4()))
        left = asked.left_of(turn.reply)
        if turn.stop == "command" and "\n" in left:
            left = fenced(left)  # what a command prints is no Markdown: its lines stay
        failed = asked.failure is not None and turn.stop in ("error", "budget")
        is_stopped = left.strip() == STOPPED and (asked.cancelled or turn.stop == "stopped")
        if left.strip() and not (failed or is_stopped):
            if asked.is_over and left == turn.reply:
                asked.begin_text()
            self._feed.say(session, left, asked.message_id)
        await submission.mark_delivered()
        await self._feed.settle(session)
        if failed and asked.failure is not None and not asked.cancelled:
            raise RequestError(FAILED, asked.failure.text, {"kind": asked.failure.kind})
        reason = "cancelled" if asked.cancelled else STOPS.get(turn.stop, "end_turn")
        return schema.PromptResponse(stop_reason=reason, usage=_usage(turn.usage))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop what is under way in a session; its prompts answer ``cancelled``."""
        session = self._open.get(session_id)
        if session is not None:
            await self._stop(session)

    async def stop_all(self) -> None:
        """Stop what is under way in every session: the editor is gone."""
        for session in self._open.all():
            await self._stop(session)

    async def _stop(self, session: EditorSession) -> None:
        for asked in session.prompts:
            asked.cancelled = True
        if session.prompt is not None:
            await self._conversations.stop(session.prompt.inbound)

    def _stop_soon(self, session: EditorSession) -> None:
        task = asyncio.ensure_future(self._stop(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Helpers

    def _session(self, session_id: str) -> EditorSession:
        session = self._open.get(session_id)
        if session is None:
            raise RequestError(
                NOT_FOUND,
                f"session {session_id[:80]} is not open; session/load or session/resume opens it",
            )
        return session

    def _check_model(self) -> None:
        core = self._host.services[Inspection]
        try:
            core.check_model(core.default_model())
        except HooklineError as error:
            raise RequestError(FAILED, str(error)) from None


def _folder(cwd: str) -> Path:
    """The folder that an editor works in. Raises ``RequestError`` if it is none."""
    folder = _real(cwd)
    if not folder.is_dir():
        raise wrong(f"cwd {cwd[:200]} is no folder")
    return folder


def _real(cwd: str) -> Path:
    try:
        if not os.path.isabs(cwd):  # noqa: PTH117
            raise wrong(f"cwd {cwd[:200]!r} is not absolute")
        return Path(os.path.realpath(cwd))
    except ValueError:
        raise wrong("cwd is no path") from None


def _name(session_id: str) -> str:
    if not 0 < len(session_id) <= LONGEST_NAME or not session_id.isprintable():
        raise RequestError(NOT_FOUND, f"there is no session {session_id[:40]!r}")
    return session_id


def _line(text: str) -> str | None:
    line = " ".join(text.split())
    return (line if len(line) <= 80 else line[:79] + "…") or None


def _place(cursor: str | None) -> tuple[float, str]:
    """When and where the page before ended."""
    if cursor is None:
        return 1e15, ""
    moment, tilde, after = cursor.partition("~")
    with suppress(ValueError):
        if tilde and len(cursor) <= 300 and after.isprintable():
            return float(moment), after
    raise wrong("cursor is not one of an answer of session/list")


def _usage(usage: Usage) -> schema.Usage:
    return schema.Usage(
        total_tokens=int(usage.input + usage.output),
        input_tokens=int(usage.input),
        output_tokens=int(usage.output),
        thought_tokens=int(usage.reasoning),
        cached_read_tokens=int(usage.cache_read),
        cached_write_tokens=int(usage.cache_write),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
