"""The methods of the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import getpass
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
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

from .call_updates import fence_text
from .config_options import MODE_OPTION, MODEL_COMMAND, MODEL_OPTION, ConfigOptions
from .feed import EditorFeed
from .mcp_servers import attach_servers, server_entries
from .permission_requests import EditorQuestions
from .prompts import ParsedPrompt, invalid_params, read_prompt
from .replay import replay_updates
from .sessions import CHANNEL, CHAT, ActivePrompt, EditorSession, OpenSessions
from .stdio import StdioTransport
from .unsaved_changes import UnsavedChanges

MODE_DESCRIPTIONS: dict[Mode, str] = {
    "ask": "Asks before every call that changes something.",
    "auto": "Asks only before risky calls.",
    "plan": "Plans without changing anything.",
}
"""The modes that an editor can set; ``yolo`` is for the command line only."""
STOP_REASONS: dict[str, schema.StopReason] = {
    "stopped": "cancelled",
    "max_iterations": "max_turn_requests",
    "denied": "refusal",
}
STOPPED = "Stopped."
"""Core's reply of a stopped turn; not shown, because the editor shows the stop reason."""
NOT_FOUND, FAILED = -32002, -32603
"""The protocol's error codes."""
NEW_SESSION_NEEDED = (
    "The tools of a session cannot change. Start a new session to use the editor's MCP servers."
)
PAGE_SIZE = 50
"""Sessions in one answer of ``session/list``."""
STOP_TIMEOUT = 10.0
"""Seconds that a turn may take to stop after the editor has gone."""
MAX_SESSION_ID_CHARS = 200


class EditorAgent:
    """Answers the requests of one editor.

    Args:
        host: the plugin's host.
        pipes: the connection.
        feed: sends updates to the editor.
        sessions: the open sessions.
        mode: the mode of new sessions; empty for the configured one.
    """

    def __init__(
        self, host: Host, pipes: StdioTransport, feed: EditorFeed, sessions: OpenSessions, mode: str
    ) -> None:
        self._host = host
        self._pipes = pipes
        self._feed = feed
        self._sessions = sessions
        self._mode = mode
        self.unsaved: UnsavedChanges | None = None
        """Learns at ``initialize`` whether the editor offers ``fs/read_text_file``."""
        self.questions: EditorQuestions | None = None
        """Learns at ``initialize`` whether the editor offers forms."""
        self._media = MediaStore(host, "acp")
        self._user = _user()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._options = ConfigOptions(host, MODE_DESCRIPTIONS)
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
        """Return the agent's capabilities."""
        fs = client_capabilities.fs if client_capabilities is not None else None
        if self.unsaved is not None:
            self.unsaved.offered = bool(fs and fs.read_text_file)
        forms = client_capabilities.elicitation if client_capabilities is not None else None
        if self.questions is not None:
            self.questions.shows_forms = forms is not None and forms.form is not None
        from importlib.metadata import version

        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(
                    image=True, audio=True, embedded_context=True
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

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.NewSessionResponse:
        """Start a session; nothing is stored before the first prompt."""
        workspace = _working_folder(cwd)
        self._check_model()
        now = time.localtime(self._host.now())
        session_id = f"{time.strftime('%Y%m%d', now)}-{uuid4().hex[:8]}"
        session = EditorSession(session_id, workspace, session_id, session_id)
        session.servers = server_entries(mcp_servers)
        problems = attach_servers(self._host, session_id, session.servers)
        if self._mode:
            await self._set_mode(session, self._mode)
        modes = await self._modes(session)
        self._sessions.add(session)
        self._pipes.after(session_id, lambda: self._send_initial_updates(session, problems))
        options = await self._config_options(session)
        return schema.NewSessionResponse(session_id=session_id, modes=modes, config_options=options)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.LoadSessionResponse:
        """Open a stored session and replay its messages."""
        session, problems = await self._open_session(cwd, session_id, mcp_servers)
        messages = await self._host.messages(session.current)
        for update in replay_updates(messages, session.workspace):
            self._feed.send(session, update)
        self._send_initial_updates(session, problems)
        modes, options = await self._modes(session), await self._config_options(session)
        return schema.LoadSessionResponse(modes=modes, config_options=options)

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> schema.ResumeSessionResponse:
        """Open a stored session without replaying its messages."""
        session, problems = await self._open_session(cwd, session_id, mcp_servers)
        self._send_initial_updates(session, problems)
        modes, options = await self._modes(session), await self._config_options(session)
        return schema.ResumeSessionResponse(modes=modes, config_options=options)

    async def _open_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None
    ) -> tuple[EditorSession, list[str]]:
        workspace = _working_folder(cwd)
        rows = await self._host.storage.fetch("conversation", id=_check_session_id(session_id))
        known = self._sessions.get(session_id)
        if known is not None and known.prompts:
            raise invalid_params(f"session {session_id} is answering a prompt. Cancel it first")
        if not rows and known is None:
            raise RequestError(NOT_FOUND, f"unknown session {session_id[:80]}. Use session/list")
        self._check_model()
        if rows:
            await self._conversations.reopen(session_id)
        if known is not None:
            self._sessions.drop(known)
        session = EditorSession(session_id, workspace, session_id, session_id)
        session.title = rows[0]["title"] if rows else None
        session.servers = server_entries(mcp_servers)
        problems = attach_servers(self._host, session_id, session.servers)
        if session.servers and not problems and not await self._has_tool_search(session_id):
            problems = [NEW_SESSION_NEEDED]
        self._sessions.add(session)
        return session, problems

    async def _has_tool_search(self, session_id: str) -> bool:
        """True if the session's frozen tools include the search for MCP tools."""
        stable = await self._host.services[Inspection].prompt(session_id)
        return stable is None or any(one.name == "mcp_find" for one in stable.tools)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Return stored sessions, including the terminal's, most recently used first."""
        updated, after = _parse_cursor(cursor)
        workspace = str(_real_path(cwd)) if cwd else ""
        rows = await self._host.storage.fetch(
            "conversations", workspace=workspace, updated=updated, id=after, most=PAGE_SIZE + 1
        )
        shown = [
            schema.SessionInfo(
                session_id=row["id"],
                cwd=row["workspace"] or str(self._host.paths.workspace),
                title=_title_line(row["title"] or row["first_words"] or ""),
                updated_at=datetime.fromtimestamp(row["updated"], UTC).isoformat(),
            )
            for row in rows[:PAGE_SIZE]
        ]
        last = rows[PAGE_SIZE - 1] if len(rows) > PAGE_SIZE else None
        following = f"{last['updated']!r}~{last['id']}" if last else None
        return schema.ListSessionsResponse(sessions=shown, next_cursor=following)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Stop a session's turn and close it; its messages stay stored."""
        session = self._session(session_id)
        await self._stop(session)
        for name in {session_id, session.current}:
            attach_servers(self._host, name, ())
        self._sessions.drop(session)
        return schema.CloseSessionResponse()

    def _send_initial_updates(self, session: EditorSession, problems: Sequence[str]) -> None:
        self._feed.commands(session, self._feed.all_commands)
        for problem in problems:
            self._feed.think(session, f"{problem}\n")

    async def set_session_mode(
        self, mode_id: str, session_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Set the session's mode; a running turn follows from its next call on."""
        await self._set_mode(self._session(session_id), mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Set the mode or the model of a session."""
        session = self._session(session_id)
        setters = {MODE_OPTION: self._set_mode, MODEL_OPTION: self._set_model}
        if config_id not in setters:
            raise invalid_params(f"unknown option {config_id[:40]!r}. Options: mode, model")
        if not isinstance(value, str):
            raise invalid_params(f"the value of {config_id} must be a string, got {value!r}")
        await setters[config_id](session, value)
        return schema.SetSessionConfigOptionResponse(
            config_options=await self._config_options(session)
        )

    async def _set_model(self, session: EditorSession, model: str) -> None:
        """Set the model by the command ``/model``, after a running turn."""
        if not model or any(char.isspace() for char in model):
            raise invalid_params(f"unknown model {model[:80]!r}")
        async with session.turn:
            inbound = replace(self._inbound(session), text=f"{MODEL_COMMAND} {model}")
            submission = await self._conversations.submit(inbound, "ask")
            await submission.mark_delivered()
        if not f"/{await self._options.current_model(session)}".endswith(f"/{model}"):
            raise invalid_params(submission.turn.reply or f"the model is not {model[:80]!r}")

    async def _config_options(self, session: EditorSession) -> list[Any]:
        options = await self._options.build(session)
        session.options = {one.id: one.current_value for one in options}
        return options

    async def _report_changes(self, session: EditorSession) -> None:
        """Send the session's mode, title and options if they have changed."""
        await self._feed.send_mode_and_title(session)
        if (update := await self._options.update(session)) is not None:
            self._feed.send(session, update)

    async def _set_mode(self, session: EditorSession, mode: str) -> None:
        modes = self._host.services.get(Modes)
        if modes is None or mode not in MODE_DESCRIPTIONS:
            known = (
                ", ".join(MODE_DESCRIPTIONS)
                if modes is not None
                else "none, the plugin permissions is off"
            )
            raise invalid_params(f"unknown mode {mode[:40]!r}. Modes: {known}")
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
        names = (
            MODE_DESCRIPTIONS
            if session.mode in MODE_DESCRIPTIONS
            else {**MODE_DESCRIPTIONS, "yolo": "Never asks."}
        )
        shown = [
            schema.SessionMode(id=one, name=one.capitalize(), description=meaning)
            for one, meaning in names.items()
        ]
        return schema.SessionModeState(current_mode_id=session.mode, available_modes=shown)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        """Answer a prompt; further prompts of the same session wait."""
        session = self._session(session_id)
        active = ActivePrompt(self._inbound(session))
        session.prompts.add(active)
        try:
            parsed = await read_prompt(prompt, session.workspace, self._media)
            active.embedded = tuple(parsed.embedded)
            if session.prompt is not None and self._is_immediate(parsed.text):
                return await self._run_immediate(session, active, parsed)
            async with session.turn:
                if active.cancelled:
                    return schema.PromptResponse(stop_reason="cancelled")
                active.inbound = self._inbound(session, active.inbound.message_id, parsed)
                session.prompt = active
                try:
                    return await self._answer(session, active)
                finally:
                    session.prompt = None
        finally:
            session.prompts.discard(active)

    def _is_immediate(self, text: str) -> bool:
        """True for a command that does not wait for the running turn, such as ``/stop``."""
        word = text.split(None, 1)[0].casefold() if text.startswith("/") else ""
        return any(
            one.immediate and word in (one.name, *one.aliases)
            for one in self._conversations.commands()
        )

    async def _run_immediate(
        self, session: EditorSession, active: ActivePrompt, parsed: ParsedPrompt
    ) -> schema.PromptResponse:
        inbound = self._inbound(session, active.inbound.message_id, parsed)
        submission = await self._conversations.submit(inbound, "ask")
        if text := submission.turn.reply:
            self._feed.say(session, fence_text(text) if "\n" in text else text, str(uuid4()))
        await submission.mark_delivered()
        await self._report_changes(session)
        return schema.PromptResponse(stop_reason="end_turn")

    def _inbound(
        self, session: EditorSession, message_id: str = "", parsed: ParsedPrompt | None = None
    ) -> Inbound:
        return Inbound(
            CHANNEL,
            CHAT,
            self._user,
            message_id or uuid4().hex,
            parsed.text if parsed else "",
            attachments=tuple(parsed.attachments) if parsed else (),
            received=self._host.now(),
            session_id=session.target,
            private=True,
            sender=self._user,
            workspace=session.workspace,
        )

    async def _answer(self, session: EditorSession, active: ActivePrompt) -> schema.PromptResponse:
        work = asyncio.ensure_future(self._conversations.submit(active.inbound, "ask"))
        try:
            submission = await asyncio.shield(work)
        except asyncio.CancelledError:
            # The editor has gone: no one could read the answer or approve.
            active.cancelled = True
            await self._conversations.stop(active.inbound)
            await asyncio.wait([work], timeout=STOP_TIMEOUT)
            raise
        except HooklineError as error:
            raise RequestError(FAILED, str(error)) from None
        finally:
            self._feed.fail_open_calls(session, active)
        return await self._finish_prompt(session, active, submission)

    async def _finish_prompt(
        self, session: EditorSession, active: ActivePrompt, submission: Submission
    ) -> schema.PromptResponse:
        turn = submission.turn
        for text in submission.undelivered:
            self._feed.say(session, f"{text}\n\n", str(uuid4()))
        left = active.unsent_part(turn.reply)
        if turn.stop == "command" and "\n" in left:
            left = fence_text(left)  # output of a command is not Markdown
        failed = active.failure is not None and turn.stop in ("error", "budget")
        is_stopped = left.strip() == STOPPED and (active.cancelled or turn.stop == "stopped")
        if left.strip() and not (failed or is_stopped):
            if active.is_over and left == turn.reply:
                active.begin_text()
            self._feed.say(session, left, active.message_id)
        await submission.mark_delivered()
        await self._report_changes(session)
        if failed and active.failure is not None and not active.cancelled:
            raise RequestError(FAILED, active.failure.text, {"kind": active.failure.kind})
        reason = "cancelled" if active.cancelled else STOP_REASONS.get(turn.stop, "end_turn")
        return schema.PromptResponse(stop_reason=reason, usage=_usage(turn.usage))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop a session's turn; its prompts are answered with ``cancelled``."""
        session = self._sessions.get(session_id)
        if session is not None:
            await self._stop(session)

    async def stop_all(self) -> None:
        """Stop the turns of all sessions, because the editor has gone."""
        for session in self._sessions.all():
            await self._stop(session)

    async def _stop(self, session: EditorSession) -> None:
        for active in session.prompts:
            active.cancelled = True
        if session.prompt is not None:
            await self._conversations.stop(session.prompt.inbound)

    def _stop_soon(self, session: EditorSession) -> None:
        task = asyncio.ensure_future(self._stop(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(
                NOT_FOUND,
                f"session {session_id[:80]} is not open. Use session/load or session/resume",
            )
        return session

    def _check_model(self) -> None:
        core = self._host.services[Inspection]
        try:
            core.check_model(core.default_model())
        except HooklineError as error:
            raise RequestError(FAILED, str(error)) from None


def _working_folder(cwd: str) -> Path:
    """Return the editor's working folder. Raises ``RequestError`` if it is not a folder."""
    folder = _real_path(cwd)
    if not folder.is_dir():
        raise invalid_params(f"cwd {cwd[:200]} is not a folder")
    return folder


def _real_path(cwd: str) -> Path:
    try:
        if not os.path.isabs(cwd):  # noqa: PTH117
            raise invalid_params(f"cwd {cwd[:200]!r} is not absolute")
        return Path(os.path.realpath(cwd))
    except ValueError:
        raise invalid_params("cwd is not a valid path") from None


def _check_session_id(session_id: str) -> str:
    if not 0 < len(session_id) <= MAX_SESSION_ID_CHARS or not session_id.isprintable():
        raise RequestError(NOT_FOUND, f"unknown session {session_id[:40]!r}")
    return session_id


def _title_line(text: str) -> str | None:
    line = " ".join(text.split())
    return (line if len(line) <= 80 else line[:79] + "…") or None


def _parse_cursor(cursor: str | None) -> tuple[float, str]:
    """Return time and id of the last session of the previous page."""
    if cursor is None:
        return 1e15, ""
    moment, tilde, after = cursor.partition("~")
    with suppress(ValueError):
        if tilde and len(cursor) <= 300 and after.isprintable():
            return float(moment), after
    raise invalid_params("cursor is invalid. Use the one from the last answer of session/list")


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
