"""Output of ``hookline run`` on a terminal: rendered as in the chat, block by block."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TextIO

from hookline_hookspecs import Context, Delta, Host, ModelResponse, Submission, Turn
from hookline_markdown import (
    GUTTER,
    StreamedAnswer,
    hanging,
    indented,
    readable,
    render,
    window_width,
)

from .output import PlainOutput, write


class RenderedOutput(PlainOutput):
    """Shows each paragraph, list or code block of the answer once it is complete."""

    def __init__(self, stdout: TextIO, *, asks: bool) -> None:
        super().__init__(stdout)
        self.asks = asks
        self._growing = StreamedAnswer()
        self._shown = False

    def connect(self, host: Host) -> None:
        """Connect to the streamed answer too."""
        host.signals.connect("delta", self._grow)
        host.signals.connect("post_model", self._responded)
        super().connect(host)

    def _grow(self, event: Delta, ctx: Context) -> None:
        if ctx.session.kind != "chat":
            return
        if event.kind == "restart":
            self._show(self._growing.commit())
            self._growing.begin()
        elif event.kind == "text":
            for block in self._growing.grow(event.text):
                self._show(block)

    def _responded(self, event: ModelResponse, ctx: Context) -> None:
        if ctx.session.kind == "chat":
            self._show(self._growing.commit())

    def finished(self, submission: Submission) -> None:
        """Show the end. If a question is asked next, its choices are shown there."""
        question = submission.question
        if self.asks and question is not None and question.choices:
            turn = replace(submission.turn, reply=question.text)
            submission = replace(submission, turn=turn)
        super().finished(submission)

    def answer(self, turn: Turn) -> None:
        """Show the part of the reply that was not streamed."""
        self._show(self._growing.commit())
        rest = self._growing.unstreamed_part(turn.reply) if self._shown else turn.reply
        if turn.stop == "command":
            write(self._stdout, hanging(readable(rest), window_width()))
        else:
            self._show(rest)
        self._growing.begin()

    def _show(self, text: str) -> None:
        """Show a block, with a blank line before it."""
        if text.strip():
            gap = "\n" if self._shown else ""
            width = window_width()
            shown = render(readable(text), width - len(GUTTER))
            write(self._stdout, gap + indented(shown, width))
            self._shown = True


def supports_colors(stdout: TextIO) -> bool:
    """Whether a stream is a terminal that can show colours."""
    return stdout.isatty() and os.environ.get("TERM") != "dumb"
