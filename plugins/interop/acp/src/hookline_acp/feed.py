"""Sends what happens in a turn to the editor: text, thoughts, calls, plans, modes, cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from acp import schema
from hookline_hookspecs import (
    Command,
    Context,
    Conversations,
    Delta,
    Failure,
    Host,
    ModelResponse,
    Modes,
    Notice,
    ToolCall,
    ToolResult,
    Turn,
)
from hookline_hookspecs.visible_text import spell_out

from . import call_updates
from .mcp_servers import attach_servers
from .sessions import CHANNEL, ActivePrompt, EditorSession, OpenSessions
from .stdio import StdioTransport

RESTART_NOTICE = "The connection broke; the answer starts over."
REFUSAL_MARKER = " was refused: "
"""Part of core's notices about refusals, which the call's result shows too."""
RESUME_COMMAND = "/resume"
HIDDEN_COMMANDS = frozenset({"/copy", "/expand", RESUME_COMMAND, "/approve", "/deny"})
"""Commands of the terminal's screen, and commands that an editor has buttons for."""
NO_RESULT = "Interrupted: no result."


class EditorFeed:
    """Converts core's signals to updates for the editor.

    Args:
        host: the plugin's host.
        pipes: the connection to the editor.
        sessions: the open sessions.
    """

    def __init__(self, host: Host, pipes: StdioTransport, sessions: OpenSessions) -> None:
        self._host = host
        self._pipes = pipes
        self._sessions = sessions
        self._prices: Any = None
        self.stop: Callable[[EditorSession], Any] = lambda session: None
        """Stops the turn of a session whose prompt was cancelled before the turn began."""

    @property
    def receivers(self) -> dict[str, Callable[..., None]]:
        """The receivers to connect, by signal."""
        return {
            "start_of_turn": self._on_turn_start,
            "end_of_turn": self._on_turn_end,
            "delta": self._on_delta,
            "post_model": self._on_response,
            "post_tool": self._on_tool_result,
            "notice": self._on_notice,
            "on_error": self._on_error,
            "resumed": self._on_resumed,
        }

    def send(self, session: EditorSession, update: Any) -> None:
        """Send an update about a session; updates keep their order."""
        self._send(session, update.model_dump(mode="json", by_alias=True, exclude_none=True))

    def _send(self, session: EditorSession, update: dict[str, Any]) -> None:
        params = {"sessionId": session.id, "update": update}
        self._pipes.push({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def say(self, session: EditorSession, text: str, message_id: str) -> None:
        """Show a text as the agent's answer."""
        self._send(session, _chunk("agent_message_chunk", text, message_id))

    def think(self, session: EditorSession, text: str, message_id: str = "") -> None:
        """Show a text that is not part of the answer."""
        message_id = message_id or str(uuid4())
        self._send(session, _chunk("agent_thought_chunk", text, message_id))

    def _locate(self, ctx: Any) -> tuple[Context, EditorSession, ActivePrompt] | None:
        """Return context, session and prompt of a signal; None if it belongs to no prompt."""
        view: Context | None = ctx.of(self._host.plugin) if hasattr(ctx, "of") else ctx
        if view is None:
            return None
        session = self._sessions.find(view.session.id)
        if session is None or session.prompt is None:
            return None
        return view, session, session.prompt

    def _on_turn_start(self, turn: Turn, ctx: Any = None) -> None:
        own = turn.session
        if own.channel != CHANNEL:
            return
        if own.kind == "agent":
            above = self._sessions.find(own.parent_id)
            if above is not None:
                self._sessions.show_in(own.id, above)
            return
        session = self._sessions.get(turn.inbound.session_id) or self._sessions.find(own.id)
        if own.kind != "chat" or session is None or session.prompt is None:
            return
        self._sessions.show_in(own.id, session)
        if session.current != own.id:
            session.current = own.id
            attach_servers(self._host, own.id, session.servers)
        session.prompt.begun = True
        session.prompt.begin_text()
        if session.prompt.cancelled:
            self.stop(session)

    def _on_turn_end(self, turn: Turn, ctx: Any = None) -> None:
        if turn.session.kind == "agent":
            self._sessions.hide(turn.session.id)

    def _on_delta(self, delta: Delta, ctx: Any = None) -> None:
        found = self._locate(ctx)
        if found is None or found[0].session.kind != "chat":
            return
        _, session, prompt = found
        if prompt.is_over:
            prompt.begin_text()
        if delta.kind == "text":
            prompt.streamed += delta.text
            self.say(session, delta.text, prompt.message_id)
        elif delta.kind == "restart":
            self.think(session, RESTART_NOTICE)
            prompt.begin_text()
        elif delta.text:
            self.think(session, delta.text, prompt.message_id)

    def _on_response(self, response: ModelResponse, ctx: Any = None) -> None:
        found = self._locate(ctx)
        if found is None:
            return
        view, session, prompt = found
        self._report_usage(session, view, response)
        if view.session.kind == "chat":
            prompt.is_over = True
        for call in response.message.tool_calls:
            if call_updates.plan_update(call) is None:
                self.announce(session, prompt, view, call)

    def announce(
        self, session: EditorSession, prompt: ActivePrompt, view: Context, call: ToolCall
    ) -> str:
        """Show a call if it is not shown yet; return its id in the editor."""
        call_id = editor_call_id(view, call)
        if call_id not in prompt.calls:
            prompt.calls.add(call_id)
            self.send(session, call_updates.start_update(call_id, call, view.paths.workspace))
        return call_id

    def report_running(self, ctx: Context, call: ToolCall) -> None:
        """Show that an allowed call starts to run."""
        found = self._locate(ctx)
        if found is not None and call_updates.plan_update(call) is None:
            view, session, prompt = found
            call_id = self.announce(session, prompt, view, call)
            self.send(session, call_updates.status_update(call_id, "in_progress"))

    def _on_tool_result(self, result: ToolResult, ctx: Any = None) -> None:
        found = self._locate(ctx)
        if found is None:
            return
        view, session, prompt = found
        plan = call_updates.plan_update(result.call)
        known = editor_call_id(view, result.call) in prompt.calls
        if plan is not None and result.ok:
            if view.session.kind == "chat":
                self.send(session, plan)
            if not known:
                return
        call_id = self.announce(session, prompt, view, result.call)
        self.send(session, call_updates.result_update(call_id, result, view.paths.workspace))
        prompt.calls.discard(call_id)

    def fail_open_calls(self, session: EditorSession, prompt: ActivePrompt) -> None:
        """Show calls without a result as failed, at the end of a turn."""
        for call_id in sorted(prompt.calls):
            update = call_updates.status_update(call_id, "failed")
            update.content = [call_updates.text_content(NO_RESULT)]
            self.send(session, update)
        prompt.calls.clear()

    def _on_notice(self, notice: Notice, ctx: Any = None) -> None:
        if REFUSAL_MARKER in notice.text and ctx is not None:
            return  # the call's result shows it
        text = f"[{notice.plugin}] {notice.text}\n"
        found = self._locate(ctx) if ctx is not None else None
        if found is not None:
            self.think(found[1], text)
        elif ctx is None:  # another process works in the session, so the prompt waits
            for session in self._sessions.all():
                if session.prompt is not None and not session.prompt.begun:
                    self.think(session, text)

    def _on_error(self, failure: Failure, ctx: Any = None) -> None:
        found = self._locate(ctx)
        if found is not None and found[0].session.kind == "chat":
            found[2].failure = failure

    def _on_resumed(self, session_id: str, ctx: Any = None) -> None:
        """Switch to another session after ``/resume``."""
        for session in self._sessions.all():
            prompt = session.prompt
            if prompt is not None and prompt.inbound.text.casefold().startswith(RESUME_COMMAND):
                session.target = session.current = session_id
                self._sessions.show_in(session_id, session)

    def _report_usage(self, session: EditorSession, view: Context, response: ModelResponse) -> None:
        if self._prices is None:
            from hookline_hookspecs.prices import Prices

            self._prices = Prices.of(self._host)
        cost = self._prices.cost(response.model, response.usage) if response.model else None
        session.cost = None if cost is None or session.cost is None else session.cost + cost
        if view.session.kind == "chat":
            session.used = response.usage.input + response.usage.output
        money = schema.Cost(amount=session.cost, currency="USD") if session.cost else None
        update = schema.UsageUpdate(
            session_update="usage_update", used=session.used, size=view.window(), cost=money
        )
        self.send(session, update)

    def commands(self, session: EditorSession, found: list[Command]) -> None:
        """Send the slash commands."""
        update = schema.AvailableCommandsUpdate(
            session_update="available_commands_update",
            available_commands=_available_commands(found),
        )
        self.send(session, update)

    async def send_mode_and_title(self, session: EditorSession) -> None:
        """Send the session's mode and title if they have changed."""
        modes = self._host.services.get(Modes)
        if modes is not None and (mode := await modes.get(session.current)) != session.mode:
            session.mode = mode
            update = schema.CurrentModeUpdate(
                session_update="current_mode_update", current_mode_id=mode
            )
            self.send(session, update)
        rows = await self._host.storage.fetch("conversation", id=session.current)
        if rows and rows[0]["title"] and rows[0]["title"] != session.title:
            session.title = rows[0]["title"]
            info = schema.SessionInfoUpdate(
                session_update="session_info_update", title=spell_out(session.title)
            )
            self.send(session, info)

    @property
    def all_commands(self) -> list[Command]:
        """Every slash command."""
        return list(self._host.services[Conversations].commands())


def _chunk(kind: str, text: str, message_id: str) -> dict[str, Any]:
    """Return an update with a piece of text, without the SDK's models, which are too slow."""
    content = {"type": "text", "text": text}
    return {"sessionUpdate": kind, "content": content, "messageId": message_id}


def editor_call_id(view: Context, call: ToolCall) -> str:
    """Return a call's id for the editor. The model's ids are unique only within a turn."""
    return f"{view.turn.id[:16]}.{call.id}"


def _available_commands(commands: Iterable[Command]) -> list[schema.AvailableCommand]:
    """Return the commands that are useful in an editor, without their slashes."""
    return [_describe_command(one) for one in commands if one.name not in HIDDEN_COMMANDS]


def _describe_command(command: Command) -> schema.AvailableCommand:
    """Convert a command; the text after its name in its help becomes the argument's hint."""
    written = re.search(rf"{re.escape(command.name)} ([^.;,:)]+)", command.help)
    hint = written[1].strip() if written else "arguments, if any"
    return schema.AvailableCommand(
        name=command.name.removeprefix("/"),
        description=command.help or command.name,
        input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint)),
    )
