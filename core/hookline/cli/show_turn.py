"""What ``hookline run`` shows: the answer on stdout, or every event as a JSON line."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Notice, PluginFailure

from hookline import clock

from .shared import err, out, out_json

if TYPE_CHECKING:
    from hookline.runtime import Runtime
    from hookline.sessions.state import ActiveTurn

USAGE = ("input", "cache_read", "cache_write", "output", "reasoning")


def unshown(turn: ActiveTurn) -> list[str]:
    """Answers of interrupted turns that nobody has seen yet."""
    rows = turn.state.pending.unshown
    return [f"Finished from before: {json.loads(row['body'])['text']}" for row in rows]


def failure_text(event: PluginFailure, told: set[PluginFailure]) -> str | None:
    """A sentence for the person, once for each failure; None if the bus has told it already.

    A process of one turn rarely comes to the failures in a row that switch a plugin off.
    """
    if event.off or event in told:
        return None
    told.add(event)
    return f"This plugin failed in {event.hook}: {event.reason}"


class Plain:
    """The answer goes to stdout; progress to stderr on a terminal, notices always. Nobody sees
    reviews."""

    def __init__(self) -> None:
        self._progress = sys.stderr.isatty()
        self._failures: set[PluginFailure] = set()

    def connect(self, runtime: Runtime) -> None:
        """Listen to what is worth a line."""
        runtime.bus.signals.connect("notice", self._notice)
        runtime.bus.signals.connect("plugin_failed", self._failed)
        if self._progress:
            runtime.bus.signals.connect("post_model", self._calls)

    def _notice(self, event: Any, ctx: Any) -> None:
        if ctx is None or ctx.state.record.kind != "review":
            err(f"[{event.plugin}] {event.text}")

    def _failed(self, event: PluginFailure, ctx: Any) -> None:
        if (text := failure_text(event, self._failures)) is not None:
            self._notice(Notice(event.plugin, text), ctx)

    def _calls(self, event: Any, ctx: Any) -> None:
        for call in event.message.tool_calls if ctx.state.record.kind != "review" else ():
            shown = json.dumps(call.arguments, ensure_ascii=False)
            err(f"· {call.name} {shown if len(shown) < 100 else shown[:99] + '…'}")

    def refused(self, text: str) -> None:
        """There is no answer; the sentence is on stderr already."""

    def finished(self, turn: ActiveTurn) -> None:
        """Print the answer; an error goes to stderr."""
        for text in unshown(turn):
            err(f"[core] {text}")
        if turn.outcome.stop == "error":
            err(f"hookline: {turn.outcome.reply}")
        elif turn.outcome.reply:
            out(turn.outcome.reply)


class JsonLines:
    """One JSON object a line, ``result`` always last."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._turn: str | None = None
        self._asked: str | None = None
        self._over = False
        self._failures: set[PluginFailure] = set()

    def connect(self, runtime: Runtime) -> None:
        """Listen to everything that has a line."""
        connect = runtime.bus.signals.connect
        connect("start_of_turn", lambda _turn, ctx: self._line("start", ctx))
        connect("delta", self._delta)
        connect("post_model", self._calls)
        connect("post_tool", self._result)
        connect("on_question", self._question)
        connect("notice", lambda e, ctx=None: self._line("notice", ctx, **asdict(e)))
        connect("plugin_failed", self._failed)
        connect("on_error", lambda e, ctx: self._line("error", ctx, kind=e.kind, text=e.text))

    def _line(self, type_: str, ctx: Any, /, **fields: Any) -> None:
        if ctx is not None and ctx.state.record.id:
            self._session = ctx.state.record.id
        if ctx is not None and ctx.active is not None:
            self._turn = ctx.active.id
        if self._over:  # background work; the result is the last line
            return
        line = {"type": type_, "session": self._session, "turn": self._turn, "ts": clock.now()}
        out_json({**line, **fields})

    def _failed(self, event: PluginFailure, ctx: Any = None) -> None:
        if (text := failure_text(event, self._failures)) is not None:
            self._line("notice", ctx, plugin=event.plugin, text=text)

    def _delta(self, event: Any, ctx: Any) -> None:
        if event.kind == "text":
            self._line("delta", ctx, text=event.text)

    def _calls(self, event: Any, ctx: Any) -> None:
        for call in event.message.tool_calls:
            self._line("tool_call", ctx, id=call.id, name=call.name, arguments=call.arguments)

    def _result(self, event: Any, ctx: Any) -> None:
        fields = {"id": event.call.id, "name": event.call.name, "ok": event.ok}
        self._line("tool_result", ctx, **fields, text=event.text)

    def _question(self, event: Any, ctx: Any) -> None:
        # A plugin may ask the others in its own name; it is one question.
        if event.call is not None and event.call.id == self._asked:
            return
        self._asked = event.call.id if event.call is not None else None
        self._line("question", ctx, text=event.text, choices=list(event.choices))

    def refused(self, text: str) -> None:
        """There is no answer: say so in lines too."""
        self._line("error", None, kind="config", text=text)
        empty = dict.fromkeys(USAGE, 0)
        self._line("result", None, text=text, usage=empty, tool_calls=0, stop="error")

    def finished(self, turn: ActiveTurn) -> None:
        """The question, if the turn ended in one, and the result."""
        self._session, self._turn = turn.state.record.id or None, turn.id
        for text in unshown(turn):
            self._line("notice", None, plugin="core", text=text)
        if turn.outcome.question is not None:
            choices = list(turn.outcome.question.choices)
            self._line("question", None, text=turn.outcome.question.text, choices=choices)
        fields: dict[str, Any] = {"usage": {name: getattr(turn.usage, name) for name in USAGE}}
        fields |= {"tool_calls": len(turn.results), "stop": turn.outcome.stop}
        self._line("result", None, text=turn.outcome.reply, **fields)
        self._over = True
