"""Output of ``hookline run`` on a terminal: what the chat shows, without an input line."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from typing import TextIO, cast

from hookline_hookspecs import Context, Host, Notice, PluginFailure, Reply, Submission
from hookline_hookspecs.channels import TERMINAL
from hookline_terminal.activity import is_chat, refused_tool
from hookline_terminal.channel import TerminalChannel
from hookline_terminal.config import TerminalConfig
from hookline_terminal.conversation import TerminalConversation
from hookline_terminal.prompt_styles import THEME_STYLE, color_depth
from hookline_terminal.question_prompt import screen_for
from hookline_terminal.screen import TerminalScreen
from hookline_terminal.transcript import Transcript
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.patch_stdout import patch_stdout

from .command_hints import for_command_line
from .output import PlainOutput, earlier_answers, is_followed, write_stderr


class TerminalOutput(PlainOutput):
    """Shows the turn in the chat's :class:`Transcript`: text as it grows, tool calls, diffs.

    With stderr elsewhere, tool calls are not shown, and notices and errors go there.
    """

    def __init__(self, stdout: TextIO, *, asks: bool) -> None:
        super().__init__(stdout)
        self.asks = asks
        self._screen = TerminalScreen(stdout)
        self._has_stderr = sys.stderr.isatty()

    def connect(self, host: Host) -> None:
        """Connect what the chat shows, and draw its changing rows until the turn has ended."""
        channel = next((found for found in host.channels() if found.name == TERMINAL), None)
        terminal = cast("TerminalChannel | None", channel)
        config = self._config(terminal)
        self._tool_lines = config.tool_lines
        self._conversation = TerminalConversation(host)
        self._transcript = Transcript(
            host, config, self._conversation, self._screen, lambda _seconds: None, keys=False
        )
        shown = {
            **self._transcript.receivers,
            "notice": self._notice,
            "plugin_failed": self._failed,
        }
        for receivers in (self._conversation.receivers, shown, {"start_of_turn": self._begin}):
            for signal, receiver in receivers.items():
                host.signals.connect(signal, receiver)
        self._rows = LiveRows(self._screen, self._transcript, everything=self._has_stderr)
        if terminal is not None:
            terminal.during_questions = self._question
        self._rows.start()

    def _config(self, terminal: TerminalChannel | None) -> TerminalConfig:
        config = terminal.config if terminal is not None else TerminalConfig()
        return config if self._has_stderr else config.model_copy(update={"tool_lines": False})

    @asynccontextmanager
    async def _question(self) -> AsyncIterator[None]:
        """Leave the screen to a question."""
        self._transcript.is_asking = True
        self._rows.stop()
        await self._rows.stopped()
        try:
            yield
        finally:
            self._transcript.restart_clocks()
            if self._conversation.turns:
                self._rows.start()

    def _begin(self, _event: object, ctx: Context | None = None) -> None:
        if is_chat(ctx):
            self._rows.start()

    def _notice(self, event: Notice, ctx: Context | None = None) -> None:
        if not is_followed(ctx) or (self._tool_lines and refused_tool(event)):
            return
        self._session = ctx.session.id if ctx is not None else self._session
        event = replace(event, text=for_command_line(event.text, self._session))
        if self._has_stderr:
            self._transcript.notice(event)
        else:
            write_stderr(f"[{event.plugin}] {event.text}")

    def _failed(self, event: PluginFailure, ctx: Context | None = None) -> None:
        if (notice := self._failures.notice(event)) is not None:
            self._notice(notice, ctx)

    def finished(self, submission: Submission) -> None:
        """Show the end of the turn. If its question is asked next, its choices are shown there."""
        self._rows.stop()
        for text in earlier_answers(submission):
            write_stderr(f"[core] {text}")
        turn, question = submission.turn, submission.question
        self._session = turn.session.id
        text, message = turn.reply, turn.inbound.message_id
        if self.asks and question is not None and question.choices:
            text = question.text
        if turn.stop == "error":
            text = for_command_line(text, self._session)
        self._conversation.expect(message)
        if turn.stop != "command":
            self._conversation.turns.add(message)
        elsewhere = turn.stop == "error" and not self._has_stderr
        self._transcript.show(Reply(turn.session, "" if elsewhere else text, in_reply_to=message))
        if elsewhere:
            write_stderr(f"hookline: {text}")


class LiveRows:
    """Draws the rows that change while the turn runs, below what has been written.

    It reads no keys: those that are typed meanwhile are the shell's. With ``everything``, what
    plugins print to stderr is written above the rows too.
    """

    def __init__(self, screen: TerminalScreen, transcript: Transcript, *, everything: bool) -> None:
        self._screen = screen
        self._transcript = transcript
        self._everything = everything
        self._redirected = ExitStack()
        self._drawing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to draw."""
        if self._drawing is None or self._drawing.done() or self._drawing.cancelling():
            if self._everything:
                self._redirected.enter_context(patch_stdout(raw=True))
            self._drawing = asyncio.create_task(self._draw(), name="rows of the running turn")

    def stop(self) -> None:
        """Erase the rows; nothing is drawn any more."""
        app, self._screen.app = self._screen.app, None
        if app is not None and app.is_running:
            app.renderer.erase()
        if self._drawing is not None:
            self._drawing.cancel()
        self._redirected.close()

    async def stopped(self) -> None:
        """Wait until the terminal is as it was before."""
        if self._drawing is not None:
            await asyncio.wait([self._drawing])

    async def _draw(self) -> None:
        text = FormattedTextControl(self._shown, show_cursor=False)
        with create_pipe_input() as no_keys:
            app: Application[None] = Application(
                layout=Layout(Window(text, wrap_lines=False, dont_extend_height=True)),
                erase_when_done=True,
                style=THEME_STYLE,
                color_depth=color_depth,
                input=no_keys,
                output=screen_for(self._screen.stream),
            )
            self._screen.app = app
            await app.run_async(handle_sigint=False, set_exception_handler=False)

    def _shown(self) -> StyleAndTextTuples:
        return self._transcript.rows()
