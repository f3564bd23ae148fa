"""Turns the signals of a turn into events for pages."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from hookline_hookspecs import (
    Audio,
    Context,
    Delta,
    Failure,
    Host,
    Inbound,
    ModelRequest,
    ModelResponse,
    Notice,
    PluginFailure,
    Session,
    ToolResult,
    Turn,
)
from hookline_hookspecs.prices import Prices

from .live_turns import LiveTurn, LiveTurns
from .session_owner import CHANNEL, Chat, chat_of

PageFiles: TypeAlias = list[dict[str, Any]]
"""Files in the form of the page."""
LOST_TURN_SECONDS = 10.0
"""Seconds after its message is settled, after which a turn without an end is dropped."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
MAX_TRACKED_SESSIONS = 1024
"""Sub-agents' sessions whose root session is known; also the limit of remembered failures."""


def chat(session: Session) -> Chat:
    """Return the chat of a session."""
    return session.channel, session.chat_id


class SignalListener:
    """Turns signals into events.

    Args:
        host: the plugin's host.
        live: receives the events.
        began: called as ``began(turn, found)`` when a turn begins. It returns the known files of
            the message, and calls ``found(files)`` later if there are more.
        settled: called with a message of the page that needs no further work now.
    """

    def __init__(
        self,
        host: Host,
        live: LiveTurns,
        began: Callable[[Turn, Callable[[PageFiles], None]], PageFiles],
        settled: Callable[[Inbound], None],
    ) -> None:
        self._host, self._live, self._began = host, live, began
        self._message_settled = settled
        self._prices = Prices.of(host)
        self._roots: OrderedDict[str, str] = OrderedDict()
        self._failures: set[PluginFailure] = set()
        self._commands: OrderedDict[str, None] = OrderedDict()
        """The commands of pages that may change the history, by message id."""

    def connect(self) -> None:
        """Connect to the signals."""
        receivers: Mapping[str, Callable[..., Any]] = {
            "start_of_turn": self._start,
            "pre_model": self._asked,
            "delta": self._delta,
            "post_model": self._answered,
            "post_tool": self._result,
            "notice": self._notice,
            "plugin_failed": self._failed,
            "on_error": self._error,
            "settled": self._settled,
            "turn_parked": self._parked,
        }
        for name, receiver in receivers.items():
            self._host.signals.connect(name, receiver)

    def root(self, session: Session) -> str:
        """Return the session that a person sees: for a sub-agent, that of its chat."""
        if session.kind == "chat":
            return session.id
        return self._roots.get(session.id, session.id)

    def _of(self, ctx: Context | None) -> LiveTurn | None:
        return self._live.turn(ctx.session.id) if ctx is not None else None

    def _start(self, turn: Turn, ctx: Context) -> None:
        session, inbound = turn.session, turn.inbound
        if session.kind != "chat" and session.parent_id:
            self._roots[session.id] = self._roots.get(session.parent_id, session.parent_id)
            while len(self._roots) > MAX_TRACKED_SESSIONS:
                self._roots.popitem(last=False)
        here = chat(session)
        part = sum(message.role == "assistant" for message in turn.messages)
        made = self._live.begin(session.id, here, turn.id, inbound.message_id, part)
        if inbound.message_id in self._commands:  # it may have removed turns from the history
            self.resync(session.id, here)
        self._tell_user(made, turn, inbound.text)
        for waiting in {session.id, inbound.session_id or session.id}:
            self._live.unqueued(waiting, here, inbound.message_id)
        made.seen_user = not any(isinstance(one, Audio) for one in inbound.attachments)

    def _tell_user(self, made: LiveTurn, turn: Turn, text: str) -> None:
        fields: dict[str, Any] = {"message_id": made.message_id, "text": text, "seq": None}
        fields |= {"command": False, "steer": False}

        made.user = fields

        def tell(files: PageFiles) -> None:
            if self._live.turn(made.session) is made and made.user is fields:
                event = fields | {"files": files}
                self._live.tell(made.session, made.chat, "user", made.id, fields=event)

        tell(self._began(turn, tell))

    def _asked(self, request: ModelRequest, ctx: Context) -> None:
        turn = self._of(ctx)
        if turn is None or request.purpose != "turn":
            return
        self._live.step(turn, "model")
        if not turn.seen_user:  # a voice message is transcribed by now
            turn.seen_user = True
            now = ctx.turn
            if now.messages:
                self._tell_user(turn, now, now.messages[0].text)

    def _delta(self, event: Delta, ctx: Context) -> None:
        turn = self._of(ctx)
        if turn is None:
            return
        if event.kind == "text":
            self._live.add(turn, event.text)
        elif event.kind == "restart":
            self._live.restart(turn)
        elif event.kind == "thinking":
            self._live.step(turn, "thinking")
        else:
            wait = event.wait
            about = wait.reason if wait else event.text
            retry_at = self._host.now() + wait.seconds if wait else None
            self._live.step(turn, "waiting", about, retry_at)

    def _answered(self, response: ModelResponse, ctx: Context) -> None:
        turn = self._of(ctx)
        if turn is None:
            return
        cost = self._prices.cost(response.model, response.usage)
        turn.cost = None if cost is None or turn.cost is None else turn.cost + cost
        self._live.whole(turn, response.text)
        for call in response.message.tool_calls:
            self._live.called(turn, {"id": call.id, "name": call.name, "arguments": call.arguments})
        if response.message.tool_calls:
            self._live.step(turn, "tool")

    def _result(self, result: ToolResult, ctx: Context) -> None:
        turn = self._of(ctx)
        if turn is None:
            return
        data = result.data if isinstance(result.data, Mapping) else {}
        diff = data.get("diff")
        event = {
            "id": result.call.id,
            "name": result.call.name,
            "ok": result.ok,
            "text": result.shown or result.text,
            "seconds": round(result.seconds, 3),
            "diff": diff if isinstance(diff, str) else None,
        }
        self._live.returned(turn, event)
        if result.ok and result.shown and "board" in data and ctx.session.id == turn.session:
            self._tell_board(turn, result)

    def _tell_board(self, turn: LiveTurn, result: ToolResult) -> None:
        """Send a tool's board, such as a plan, as an aside that replaces the one before."""
        event: dict[str, Any] = {"id": f"{turn.id}-{result.call.name}", "command": result.call.name}
        event |= {"text": _MARKUP.sub(r"\\\1", result.shown), "stop": "command", "tool_calls": 0}
        event |= {"usage": {"cost": None}, "message_id": None, "attempt": 0, "messages": []}
        self._live.tell(turn.session, turn.chat, "result", fields=event)

    def _notice(self, event: Notice, ctx: Context | None) -> None:
        if ctx is None or not ctx.session.id:
            return
        turn = self._of(ctx)
        session, here = self.root(ctx.session), chat(ctx.session)
        fields = {"plugin": event.plugin, "text": event.text}
        self._live.tell(session, here, "notice", turn.id if turn else None, fields=fields)

    def _failed(self, event: PluginFailure, ctx: Context | None) -> None:
        if event.off or event in self._failures or len(self._failures) > MAX_TRACKED_SESSIONS:
            return
        self._failures.add(event)
        text = f"This plugin failed in {event.hook}: {event.reason}"
        self._notice(Notice(event.plugin, text), ctx)

    def _error(self, event: Failure, ctx: Context) -> None:
        turn = self._of(ctx)
        if turn is not None:
            fields = {"kind": event.kind, "text": event.text}
            self._live.tell(turn.session, turn.chat, "error", turn.id, fields=fields)

    def _parked(self, turn: Turn, ctx: Context) -> None:
        live = self._live.turn(turn.session.id)
        if live is not None and live.id == turn.id:
            self._live.park(live)

    def command_received(self, message_id: str) -> None:
        """Remember a command: when it is done, pages load the history again."""
        self._commands[message_id] = None
        while len(self._commands) > MAX_TRACKED_SESSIONS:
            self._commands.popitem(last=False)

    def resync(self, session: str, here: Chat) -> None:
        """Have pages load a session again."""
        self._live.tell(session, here, "resync", fields={"cursor": self._live.hub.cursor})

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        if inbound.channel == CHANNEL and inbound.message_id in self._commands:
            del self._commands[inbound.message_id]
            self.resync(inbound.session_id or "", chat_of(inbound.chat_id))
        if inbound.channel == CHANNEL and inbound.session_id:
            self._message_settled(inbound)
            check = partial(self._end_lost, inbound.session_id, inbound.message_id)
            asyncio.get_running_loop().call_later(LOST_TURN_SECONDS, check)

    def _end_lost(self, session: str, message_id: str) -> None:
        """Drop a turn that ended without an end event, as when the store failed."""
        turn = self._live.turn(session)
        if turn is not None and turn.message_id == message_id:
            self._live.end(turn)
