"""Output of ``hookline run``: the answer on stdout, or every event as a JSON line."""

from __future__ import annotations

import json
import os
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
    StoredQuestion,
    Submission,
    ToolResult,
    Turn,
)
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.questions import marked_preview
from hookline_markdown import hanging, literal, readable, window_width
from hookline_terminal.activity import refused_tool

from .command_hints import for_command_line
from .refused_calls import RefusedCalls

USAGE_FIELDS = ("input", "cache_read", "cache_write", "output", "reasoning")
_LINE_SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Characters that JSON allows raw, but that end a line for some readers."""


class RunOutput(Protocol):
    """Shows a turn.

    Attributes:
        asks: whether a person is there to answer the question that a turn ends with.
    """

    asks: bool

    def connect(self, host: Host) -> None:
        """Connect to the signals that are shown."""

    def refused(self, text: str) -> None:
        """Report that no turn began; ``text`` is the error that goes to stderr."""

    def waits(self, question: StoredQuestion, *, in_full: bool) -> None:
        """Show that the turn waits; ``in_full`` if nothing else shows the question."""

    def note(self, text: str) -> None:
        """Show a sentence of the command itself."""

    def failed(self, kind: str, text: str) -> None:
        """Report why the turn, which :meth:`finished` shows next, counts as failed."""

    def finished(self, submission: Submission) -> None:
        """Show the end of the turn."""


class PlainOutput:
    """Prints the bare answer to stdout, and notices to stderr.

    If stderr is a terminal, it also shows tool calls as the chat does. Reviews are not shown.
    """

    asks = False

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout
        self._failures = FailureNotices()
        self._session: str | None = None

    def connect(self, host: Host) -> None:
        """Connect to the signals that have a line on stderr."""
        host.signals.connect("notice", self._notice)
        host.signals.connect("plugin_failed", self._failed)
        host.signals.connect("delta", self._interrupted)
        if sys.stderr.isatty():
            host.signals.connect("post_tool", self._result)

    def _notice(self, event: Notice, ctx: Context | None) -> None:
        if is_followed(ctx) and not (sys.stderr.isatty() and refused_tool(event)):
            self._session = ctx.session.id if ctx is not None else self._session
            self._print_stderr(f"[{event.plugin}] {event.text}")

    def _print_stderr(self, text: str) -> None:
        write_stderr(for_command_line(text, self._session))

    def _failed(self, event: PluginFailure, ctx: Context | None) -> None:
        if (notice := self._failures.notice(event)) is not None:
            self._notice(notice, ctx)

    def _interrupted(self, event: Delta, ctx: Context) -> None:
        if (text := interruption(event)) and is_followed(ctx):
            write_stderr(f"… {text}")

    def _result(self, event: ToolResult, ctx: Context) -> None:
        from hookline_terminal.styles import unstyled
        from hookline_terminal.tool_results import FoldLimits, result_rows

        if is_followed(ctx) and not isinstance(event.data, Question):
            rows, _ = result_rows(event, window_width(), FoldLimits(hint=""))
            text = "\n".join(rows)
            write(sys.stderr, unstyled(text) if is_dumb() else text)

    def refused(self, text: str) -> None:
        """Do nothing: the error on stderr is enough."""

    def waits(self, question: StoredQuestion, *, in_full: bool) -> None:
        """Print the question, if ``in_full``, and how to answer it."""
        if in_full:
            choices = [f"{number}. {one}" for number, one in enumerate(question.choices, 1)]
            preview = marked_preview(question.preview, question.marks)
            shown = "\n".join(filter(None, [question.text, preview, *choices]))
            write_stderr(hanging(literal(shown), window_width()))
        write_stderr(f"Answer it with: hookline questions answer {question.id} CHOICE")

    def note(self, text: str) -> None:
        """Print it to stderr."""
        write_stderr(f"hookline: {text}")

    def failed(self, kind: str, text: str) -> None:
        """Do nothing: the end of the turn shows it."""

    def finished(self, submission: Submission) -> None:
        """Print the answer; an error goes to stderr."""
        for text in earlier_answers(submission):
            write_stderr(f"[core] {text}")
        turn = submission.turn
        self._session = turn.session.id
        if turn.stop == "error":
            self._print_stderr(f"hookline: {turn.reply}")
        else:
            self.answer(turn)

    def answer(self, turn: Turn) -> None:
        """Print the reply."""
        if turn.reply:
            shown = turn.reply
            if self._stdout.isatty():
                shown = hanging(readable(shown), window_width())
            write(self._stdout, shown)


class StructuredOutput(PlainOutput):
    """Prints the JSON of ``--output-schema`` to stdout, and anything else to stderr."""

    def answer(self, turn: Turn) -> None:
        """Print the reply where it belongs."""
        if turn.stop == "done":
            super().answer(turn)
        else:
            self._print_stderr(f"hookline: {turn.reply}")


class JsonLinesOutput:
    """Prints events as JSON, one per line; ``result`` is the last.

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
        self._over = False
        self._failures = FailureNotices()
        self._prices: Prices | None = None
        self._costs: dict[str, float | None] = {}
        self._refused = RefusedCalls()

    def connect(self, host: Host) -> None:
        """Connect to the signals that have a line."""
        self._prices = Prices.of(host)
        self._refused.connect(host)
        receivers: dict[str, Callable[..., None]] = {
            "start_of_turn": self._start,
            "delta": self._delta,
            "post_model": self._calls,
            "post_tool": self._result,
            "on_question": self._question,
            "question_opened": self._opened,
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
        write(self._stdout, text.translate(_LINE_SEPARATORS))

    def _start(self, _event: Turn, ctx: Context) -> None:
        self._line("start", ctx)

    def _delta(self, event: Delta, ctx: Context) -> None:
        if event.kind == "text":
            self._line("delta", ctx, text=event.text)
        elif text := interruption(event):
            self._line("notice", ctx, plugin="core", text=text)

    def _calls(self, event: ModelResponse, ctx: Context) -> None:
        cost = self._prices.cost(event.model, event.usage) if self._prices is not None else None
        spent = self._costs.get(ctx.turn.id, 0.0)
        self._costs[ctx.turn.id] = None if spent is None or cost is None else spent + cost
        for call in event.message.tool_calls:
            self._line("tool_call", ctx, id=call.id, name=call.name, arguments=call.arguments)

    def _result(self, event: ToolResult, ctx: Context) -> None:
        fields = {"id": event.call.id, "name": event.call.name, "ok": event.ok}
        self._line("tool_result", ctx, **fields, text=event.text)

    def _opened(self, event: StoredQuestion, ctx: Context | None) -> None:
        if event.handler:  # the turn does not wait for it
            return
        self._line("question", ctx, id=event.id, text=event.text, choices=list(event.choices))

    def _question(self, event: Question, ctx: Context) -> None:
        if not event.id:  # of a turn in which no one can be asked, so it is not stored
            self._line("question", ctx, id="", text=event.text, choices=list(event.choices))

    def waits(self, question: StoredQuestion, *, in_full: bool) -> None:
        """Print the question."""
        fields = {"id": question.id, "text": question.text, "choices": list(question.choices)}
        self._line("question", None, **fields)

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

    def note(self, text: str) -> None:
        """Print it as a notice."""
        self._line("notice", None, plugin="run", text=text)

    def failed(self, kind: str, text: str) -> None:
        """Print the error."""
        self._line("error", None, kind=kind, text=text)

    def refused(self, text: str) -> None:
        """Print the error and an empty result."""
        self._line("error", None, kind="config", text=text)
        empty = dict.fromkeys(USAGE_FIELDS, 0)
        self._line("result", None, text=text, usage=empty, tool_calls=0, stop="error")

    def finished(self, submission: Submission) -> None:
        """Print the question that the turn ended with, if any, and the result."""
        turn, question = submission.turn, submission.question
        self._session, self._turn = turn.session.id or None, turn.id
        for text in earlier_answers(submission):
            self._line("notice", None, plugin="core", text=text)
        if question is not None:
            self._line("question", None, id="", text=question.text, choices=list(question.choices))
        usage = {name: getattr(turn.usage, name) for name in USAGE_FIELDS}
        if cost := self._costs.get(turn.id):
            usage["cost"] = cost
        fields: dict[str, Any] = {"usage": usage}
        fields |= {"tool_calls": len(turn.tool_calls), "stop": turn.stop}
        if self._refused.names:
            fields["refused"] = self._refused.names
        failed = turn.stop == "error"
        text = for_command_line(turn.reply, self._session) if failed else turn.reply
        self._line("result", None, text=text, **fields)
        self._over = True


class FailureNotices:
    """Turns failures of plugins into notices, each once.

    Core gives notice only when it switches a plugin off after several failures in a row, which a
    process of one turn rarely reaches.
    """

    def __init__(self) -> None:
        self._seen: set[PluginFailure] = set()

    def notice(self, event: PluginFailure) -> Notice | None:
        """Return the notice; None if there was one already."""
        if event.off or event in self._seen:
            return None
        self._seen.add(event)
        return Notice(event.plugin, f"This plugin failed in {event.hook}: {event.reason}")


def earlier_answers(submission: Submission) -> list[str]:
    """Return undelivered answers of interrupted turns, for people."""
    return [f"Finished from before: {text}" for text in submission.undelivered]


def interruption(event: Delta) -> str:
    """Return why the answer does not continue, for people; empty if it does."""
    if event.kind == "waiting":
        return event.text
    if event.kind == "restart":
        return (
            event.text or "the answer broke off and is requested again; its beginning is repeated"
        )
    return ""


def is_followed(ctx: Context | None) -> bool:
    """Whether the work is shown to a person; that of a review is not."""
    return ctx is None or ctx.session.kind != "review"


def is_dumb() -> bool:
    """Whether the terminal shows text only."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def write_stderr(text: str) -> None:
    """Write a line to stderr; on a terminal it is wrapped, indented and escaped."""
    shown = hanging(literal(text), window_width(), "") if sys.stderr.isatty() else text
    write(sys.stderr, shown)


def write(stream: TextIO, text: str) -> None:
    """Write a text, and a newline if it does not end with one."""
    stream.write(text if text.endswith("\n") else text + "\n")
    stream.flush()
