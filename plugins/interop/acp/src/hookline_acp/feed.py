"""What happens in a turn, told to the editor: text, thoughts, calls, plans, modes, cost."""

from __future__ import annotations

from collections.abc import Callable
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

from . import calls
from .commands import advertised
from .pipes import Pipes
from .servers import lend
from .sessions import CHANNEL, EditorSession, Open, Prompt

AGAIN = "The connection broke; the answer begins again."
REFUSED = " was refused: "
"""What core puts into a notice that a call's result tells as well."""
RESUME = "/resume"
NOTHING = "Interrupted: it has no result."


class Feed:
    """Turns signals of core into updates for the editor.

    Args:
        host: the plugin's host.
        pipes: where the updates go.
        opened: the sessions that the editor has open.
    """

    def __init__(self, host: Host, pipes: Pipes, opened: Open) -> None:
        self._host, self._pipes, self._open = host, pipes, opened
        self._prices: Any = None
        self.stop: Callable[[EditorSession], Any] = lambda session: None
        """Stops the turn of a session whose prompt was cancelled before it began."""

    @property
    def receivers(self) -> dict[str, Callable[..., None]]:
        """What is to be connected to signals."""
        return {
            "start_of_turn": self._started,
            "end_of_turn": self._ended,
            "delta": self._delta,
            "post_model": self._responded,
            "post_tool": self._result,
            "notice": self._notice,
            "on_error": self._failed,
            "resumed": self._resumed,
        }

    # Sending

    def send(self, session: EditorSession, update: Any) -> None:
        """Tell the editor something of a session, after all that was told before."""
        self._send(session, update.model_dump(mode="json", by_alias=True, exclude_none=True))

    def _send(self, session: EditorSession, update: dict[str, Any]) -> None:
        params = {"sessionId": session.id, "update": update}
        self._pipes.push({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def say(self, session: EditorSession, text: str, message_id: str) -> None:
        """Show a text as the agent's."""
        self._send(session, _chunk("agent_message_chunk", text, message_id))

    def think(self, session: EditorSession, text: str, message_id: str = "") -> None:
        """Show a text that is not part of the answer."""
        message_id = message_id or str(uuid4())
        self._send(session, _chunk("agent_thought_chunk", text, message_id))

    # Signals

    def _at(self, ctx: Any) -> tuple[Context, EditorSession, Prompt] | None:
        """Where a signal belongs; None if no prompt of the editor is about it."""
        view: Context | None = ctx.of(self._host.plugin) if hasattr(ctx, "of") else ctx
        if view is None:
            return None
        session = self._open.shown_in(view.session.id)
        if session is None or session.prompt is None:
            return None
        return view, session, session.prompt

    def _started(self, turn: Turn, ctx: Any = None) -> None:
        own = turn.session
        if own.channel != CHANNEL:
            return
        if own.kind == "agent":
            above = self._open.shown_in(own.parent_id)
            if above is not None:
                self._open.lead(own.id, above)
            return
        session = self._open.get(turn.inbound.session_id) or self._open.shown_in(own.id)
        if own.kind != "chat" or session is None or session.prompt is None:
            return
        self._open.lead(own.id, session)
        if session.current != own.id:
            session.current = own.id
            lend(self._host, own.id, session.servers)
        session.prompt.begun = True
        session.prompt.begin_text()
        if session.prompt.cancelled:
            self.stop(session)

    def _ended(self, turn: Turn, ctx: Any = None) -> None:
        if turn.session.kind == "agent":
            self._open.unlead(turn.session.id)

    def _delta(self, delta: Delta, ctx: Any = None) -> None:
        found = self._at(ctx)
        if found is None or found[0].session.kind != "chat":
            return
        _, session, prompt = found
        if prompt.is_over:
            prompt.begin_text()
        if delta.kind == "text":
            prompt.said += delta.text
            self.say(session, delta.text, prompt.message_id)
        elif delta.kind == "restart":
            self.think(session, AGAIN)
            prompt.begin_text()
        elif delta.text:
            self.think(session, delta.text, prompt.message_id)

    def _responded(self, response: ModelResponse, ctx: Any = None) -> None:
        found = self._at(ctx)
        if found is None:
            return
        view, session, prompt = found
        self._spent(session, view, response)
        if view.session.kind == "chat":
            prompt.is_over = True
        for call in response.message.tool_calls:
            if calls.plan_of(call) is None:
                self.announce(session, prompt, view, call)

    def announce(
        self, session: EditorSession, prompt: Prompt, view: Context, call: ToolCall
    ) -> str:
        """Tell of a call, once; return the id by which the editor knows it."""
        call_id = id_of(view, call)
        if call_id not in prompt.calls:
            prompt.calls.add(call_id)
            self.send(session, calls.started(call_id, call, view.paths.workspace))
        return call_id

    def runs(self, ctx: Context, call: ToolCall) -> None:
        """A call that was allowed begins to run."""
        found = self._at(ctx)
        if found is not None and calls.plan_of(call) is None:
            view, session, prompt = found
            call_id = self.announce(session, prompt, view, call)
            self.send(session, calls.progress(call_id, "in_progress"))

    def _result(self, result: ToolResult, ctx: Any = None) -> None:
        found = self._at(ctx)
        if found is None:
            return
        view, session, prompt = found
        plan = calls.plan_of(result.call)
        known = id_of(view, result.call) in prompt.calls
        if plan is not None and result.ok:
            if view.session.kind == "chat":
                self.send(session, plan)
            if not known:
                return
        call_id = self.announce(session, prompt, view, result.call)
        self.send(session, calls.finished(call_id, result, view.paths.workspace))
        prompt.calls.discard(call_id)

    def interrupted(self, session: EditorSession, prompt: Prompt) -> None:
        """The turn is over: what has no result gets none."""
        for call_id in sorted(prompt.calls):
            update = calls.progress(call_id, "failed")
            update.content = [calls.text_content(NOTHING)]
            self.send(session, update)
        prompt.calls.clear()

    def _notice(self, notice: Notice, ctx: Any = None) -> None:
        if REFUSED in notice.text and ctx is not None:
            return  # the call's result says it
        text = f"[{notice.plugin}] {notice.text}\n"
        found = self._at(ctx) if ctx is not None else None
        if found is not None:
            self.think(found[1], text)
        elif ctx is None:  # a session that another process works in: its prompt waits
            for session in self._open.all():
                if session.prompt is not None and not session.prompt.begun:
                    self.think(session, text)

    def _failed(self, failure: Failure, ctx: Any = None) -> None:
        found = self._at(ctx)
        if found is not None and found[0].session.kind == "chat":
            found[2].failure = failure

    def _resumed(self, session_id: str, ctx: Any = None) -> None:
        """``/resume`` was typed: what is said next belongs to that session."""
        for session in self._open.all():
            prompt = session.prompt
            if prompt is not None and prompt.inbound.text.casefold().startswith(RESUME):
                session.target = session.current = session_id
                self._open.lead(session_id, session)

    # What stands beside the conversation

    def _spent(self, session: EditorSession, view: Context, response: ModelResponse) -> None:
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
        """Tell which slash commands there are."""
        update = schema.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=advertised(found)
        )
        self.send(session, update)

    async def settle(self, session: EditorSession) -> None:
        """Tell what has changed beside the conversation: the mode, and the title."""
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
                session_update="session_info_update", title=session.title
            )
            self.send(session, info)

    @property
    def all_commands(self) -> list[Command]:
        """Every slash command."""
        return list(self._host.services[Conversations].commands())


def _chunk(kind: str, text: str, message_id: str) -> dict[str, Any]:
    """A piece of text, as the SDK's models write it; they take too long for each of thousands."""
    content = {"type": "text", "text": text}
    return {"sessionUpdate": kind, "content": content, "messageId": message_id}


def id_of(view: Context, call: ToolCall) -> str:
    """The id of a call for the editor: a model's own are unique in a turn only."""
    return f"{view.turn.id[:16]}.{call.id}"
