"""What ``hookline run`` shows: the answer on stdout, or every event as a JSON line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol, TextIO

from hookline_hookspecs import (
    Context,
    Delta,
    Failure,
    Host,
    ModelResponse,
    Notice,
    PluginFailure,
    Question,
    Submission,
    ToolResult,
    Turn,
)
from hookline_hookspecs.prices import Prices
from hookline_markdown import fitted, one_line, readable, window_width

from .advice import for_command_line

USAGE = ("input", "cache_read", "cache_write", "output", "reasoning")
LONGEST = 100
"""Characters of a line about a tool call."""
LONGEST_FAILURE = 400
REFUSAL = "Denied: "
"""How the text of a refused call begins (CONTRACT)."""
_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""They end a line for some readers, and JSON allows them raw."""


class Output(Protocol):
    """A way to show a turn.

    ``asks`` says whether a person sees it who can answer the question that a turn ends with.
    """

    asks: bool

    def connect(self, host: Host) -> None:
        """Listen to what is worth a line."""

    def refused(self, text: str) -> None:
        """There is no answer, and ``text``, which is on stderr already, says why."""

    def finished(self, submission: Submission) -> None:
        """Show the end of the turn."""


class Plain:
    """The answer goes to stdout as it is; notices go to stderr, on a terminal tool calls and their
    failures too. Reviews are not shown."""

    asks = False

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout
        self._failures = Failures()
        self._session: str | None = None

    def connect(self, host: Host) -> None:
        """Listen to what stderr is told."""
        host.signals.connect("notice", self._notice)
        host.signals.connect("plugin_failed", self._failed)
        host.signals.connect("delta", self._interrupted)
        if sys.stderr.isatty():
            host.signals.connect("post_model", self._calls)
            host.signals.connect("post_tool", self._failed_call)

    def _notice(self, event: Notice, ctx: Context | None) -> None:
        if is_followed(ctx):
            self._session = ctx.session.id if ctx is not None else self._session
            self._say(f"[{event.plugin}] {event.text}")

    def _say(self, text: str) -> None:
        tell(for_command_line(text, self._session))

    def _failed(self, event: PluginFailure, ctx: Context | None) -> None:
        if (notice := self._failures.notice(event)) is not None:
            self._notice(notice, ctx)

    def _interrupted(self, event: Delta, ctx: Context) -> None:
        if (told := interruption(event)) and is_followed(ctx):
            tell(f"… {told}")

    def _calls(self, event: ModelResponse, ctx: Context) -> None:
        for call in event.message.tool_calls if is_followed(ctx) else ():
            shown = json.dumps(call.arguments, ensure_ascii=False, default=str)
            tell(one_line(f"· {call.name} {shown}", LONGEST))

    def _failed_call(self, event: ToolResult, ctx: Context) -> None:
        # Core tells of a refusal by a notice.
        if not event.ok and is_followed(ctx) and not event.text.startswith(REFUSAL):
            told = (event.shown or event.text).removeprefix("Error: ")
            tell(one_line(f"✗ {event.call.name}: {told}", LONGEST_FAILURE))

    def refused(self, text: str) -> None:
        """Nothing more is shown."""

    def finished(self, submission: Submission) -> None:
        """Print the answer; an error goes to stderr."""
        for text in unshown(submission):
            tell(f"[core] {text}")
        turn = submission.turn
        self._session = turn.session.id
        if turn.stop == "error":
            self._say(f"hookline: {turn.reply}")
        else:
            self.answer(turn)

    def answer(self, turn: Turn) -> None:
        """Print the reply."""
        if turn.reply:
            write(self._stdout, turn.reply)


class JsonLines:
    """One JSON object a line, ``result`` always last.

    Args:
        stdout: where the lines go.
        now: Unix time in seconds, for ``ts``.
    """

    asks = False

    def __init__(self, stdout: TextIO, now: Callable[[], float]) -> None:
        self._stdout = stdout
        self._now = now
        self._session: str | None = None
        self._turn: str | None = None
        self._asked: str | None = None
        self._over = False
        self._failures = Failures()
        self._prices: Prices | None = None
        self._costs: dict[str, float | None] = {}

    def connect(self, host: Host) -> None:
        """Listen to everything that has a line."""
        self._prices = Prices.of(host)
        receivers: dict[str, Callable[..., None]] = {
            "start_of_turn": self._start,
            "delta": self._delta,
            "post_model": self._calls,
            "post_tool": self._result,
            "on_question": self._question,
            "notice": self._notice,
            "plugin_failed": self._failed,
            "on_error": self._error,
        }
        for name, receiver in receivers.items():
            host.signals.connect(name, receiver)

    def _line(self, type_: str, ctx: Context | None, /, **fields: Any) -> None:
        if self._over:  # background work; the result is the last line
            return
        if ctx is not None:
            self._session = ctx.session.id or self._session
            self._turn = ctx.turn.id or self._turn
        line = {"type": type_, "session": self._session, "turn": self._turn, "ts": self._now()}
        text = json.dumps({**line, **fields}, ensure_ascii=False, default=str)
        write(self._stdout, text.translate(_LINE_ENDS))

    def _start(self, _event: Turn, ctx: Context) -> None:
        self._line("start", ctx)

    def _delta(self, event: Delta, ctx: Context) -> None:
        if event.kind == "text":
            self._line("delta", ctx, text=event.text)
        elif told := interruption(event):
            self._line("notice", ctx, plugin="core", text=told)

    def _calls(self, event: ModelResponse, ctx: Context) -> None:
        cost = self._prices.cost(event.model, event.usage) if self._prices is not None else None
        spent = self._costs.get(ctx.turn.id, 0.0)
        self._costs[ctx.turn.id] = None if spent is None or cost is None else spent + cost
        for call in event.message.tool_calls:
            self._line("tool_call", ctx, id=call.id, name=call.name, arguments=call.arguments)

    def _result(self, event: ToolResult, ctx: Context) -> None:
        fields = {"id": event.call.id, "name": event.call.name, "ok": event.ok}
        self._line("tool_result", ctx, **fields, text=event.text)

    def _question(self, event: Question, ctx: Context) -> None:
        # A plugin may ask the others in its own name; it is one question.
        if event.call is not None and event.call.id == self._asked:
            return
        self._asked = event.call.id if event.call is not None else None
        self._line("question", ctx, text=event.text, choices=list(event.choices))

    def _notice(self, event: Notice, ctx: Context | None) -> None:
        session = ctx.session.id if ctx is not None else self._session
        text = for_command_line(event.text, session)
        self._line("notice", ctx, **{**asdict(event), "text": text})

    def _failed(self, event: PluginFailure, ctx: Context | None) -> None:
        if (notice := self._failures.notice(event)) is not None:
            self._notice(notice, ctx)

    def _error(self, event: Failure, ctx: Context) -> None:
        text = for_command_line(event.text, ctx.session.id)
        self._line("error", ctx, kind=event.kind, text=text)

    def refused(self, text: str) -> None:
        """There is no answer: say so in lines too."""
        self._line("error", None, kind="config", text=text)
        empty = dict.fromkeys(USAGE, 0)
        self._line("result", None, text=text, usage=empty, tool_calls=0, stop="error")

    def finished(self, submission: Submission) -> None:
        """The question, if the turn ended in one, and the result."""
        turn, question = submission.turn, submission.question
        self._session, self._turn = turn.session.id or None, turn.id
        for text in unshown(submission):
            self._line("notice", None, plugin="core", text=text)
        if question is not None:
            self._line("question", None, text=question.text, choices=list(question.choices))
        usage = {name: getattr(turn.usage, name) for name in USAGE}
        if cost := self._costs.get(turn.id):
            usage["cost"] = cost
        fields: dict[str, Any] = {"usage": usage}
        fields |= {"tool_calls": len(turn.tool_calls), "stop": turn.stop}
        failed = turn.stop == "error"
        text = for_command_line(turn.reply, self._session) if failed else turn.reply
        self._line("result", None, text=text, **fields)
        self._over = True


class Failures:
    """Plugins' failures as notices, each once.

    A process of one turn rarely comes to the failures in a row that switch a plugin off, of which
    core tells by itself.
    """

    def __init__(self) -> None:
        self._told: set[PluginFailure] = set()

    def notice(self, event: PluginFailure) -> Notice | None:
        """What the person is told; None if that has been done."""
        if event.off or event in self._told:
            return None
        self._told.add(event)
        return Notice(event.plugin, f"This plugin failed in {event.hook}: {event.reason}")


def unshown(submission: Submission) -> list[str]:
    """Answers of interrupted turns that nobody has seen yet."""
    return [f"Finished from before: {text}" for text in submission.undelivered]


def interruption(event: Delta) -> str:
    """What a person is told of an answer that does not go on as it should; empty if it does."""
    if event.kind == "waiting":
        return event.text
    if event.kind == "restart":
        return (
            event.text or "the answer broke off and is asked for again; its beginning is repeated"
        )
    return ""


def is_followed(ctx: Context | None) -> bool:
    """Whether a person follows the work: not that of a review."""
    return ctx is None or ctx.session.kind != "review"


def tell(text: str) -> None:
    """Write a line to stderr; on a terminal broken between words, and without what steers it."""
    write(sys.stderr, fitted(readable(text), window_width()) if sys.stderr.isatty() else text)


def write(stream: TextIO, text: str) -> None:
    """Write a text and, if it lacks one, a newline."""
    stream.write(text if text.endswith("\n") else text + "\n")
    stream.flush()
