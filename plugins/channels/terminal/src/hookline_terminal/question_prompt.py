"""Asks a question on the terminal: draws the choices below it and reads the keys.

:mod:`.question_text` makes the text, :mod:`.answer_keys` decides what each key means. Other text
that is typed before or during the question is kept for the next message.
"""

from __future__ import annotations

import asyncio
import select
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from hookline_hookspecs import Question, QuestionAnswer
from hookline_hookspecs.questions import DENY, StoredQuestion
from hookline_markdown import hanging, literal, one_line, window_width
from prompt_toolkit.application import Application
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from .answer_keys import AnswerKeys
from .input_parser import ESCAPE_TIMEOUT
from .keyboard import open_keyboard
from .notifications import TerminalNotifications
from .prompt_styles import THEME_STYLE, color_depth
from .question_text import choice_fragments, plain_choice_fragments, question_text
from .suspension import TerminalKeys
from .terminal_events import TERMINAL_EVENTS


@dataclass(slots=True)
class Draft:
    """Text typed for the next message; ``is_interrupted``: Ctrl-C ended the question."""

    text: str = ""
    is_interrupted: bool = False


def screen_for(stream: TextIO | None = None) -> Output:
    """Return the screen behind ``stream``, by default stdout.

    Its cursor position is never requested: some terminals do not answer, about which prompt_toolkit
    would warn in the middle of the chat, and a late answer would be read as keys.
    """
    output = create_output(stream)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


def refusal(question: Question) -> str | None:
    """Return the answer that Ctrl-C and the end of input give."""
    return DENY if DENY in question.choices else None


def answer_line(answer: str | QuestionAnswer | None) -> str:
    """Return the line that records an answer on the screen."""
    if isinstance(answer, QuestionAnswer):
        answer = f"{answer.choice}: {answer.words}" if answer.words else answer.choice
    return _record(answer or "no answer")


def closed_line(stored: StoredQuestion | None) -> str:
    """Return the line that records how a question was closed by someone else."""
    answer = stored.answer if stored is not None else None
    if answer is not None:
        words = f": {answer.words}" if answer.words else ""
        return _record(f"answered by {answer.by or 'a plugin'}: {answer.choice}{words}")
    is_expired = stored is not None and stored.state == "expired"
    return _record("expired without an answer" if is_expired else "closed without an answer")


def _record(text: str) -> str:
    return hanging(literal(text), window_width(), "  → ", "    ")


async def ask_beside_output(
    question: Question,
    *,
    own_words: bool = False,
    plain: bool = False,
    closed: Callable[[], Awaitable[StoredQuestion | None]] | None = None,
    notifications: Callable[[Callable[[str], None]], TerminalNotifications] | None = None,
) -> str | QuestionAnswer | None:
    """Ask while no chat is open: on stderr, or on ``/dev/tty`` if stderr is redirected.

    With ``own_words`` the question is on the screen already. If this is cancelled because the
    question is closed, ``closed`` returns how. Ctrl-C also interrupts the process (SIGINT).
    ``plain`` is for a screen reader. ``notifications`` makes what calls the person back, from what
    writes to the terminal.
    """
    with ExitStack() as stack:
        stream = _screen_for_people(stack)
        if stream is None:
            return None
        keyboard = open_keyboard()
        terminal = TerminalKeys(keyboard)
        stack.callback(keyboard.close)
        # Raw from here on: what is typed meanwhile must not be echoed into the question.
        stack.enter_context(keyboard.raw_mode())
        if not own_words:
            stream.write(question_text(question, window_width(), plain=plain))
            stream.flush()
        if notifications is not None:
            notifier = notifications(partial(_send, stream))
            stack.callback(notifier.question_closed)
            notifier.question_opened()
        draft = Draft()
        try:
            answer = await ask(
                question, draft, terminal, screen_for(stream), own_words=own_words, plain=plain
            )
        except asyncio.CancelledError:
            if closed is not None:
                stream.write(closed_line(await closed()) + "\n")
                stream.flush()
            raise
        stream.write(answer_line(answer) + "\n")
        if draft.text.strip():
            stream.write(
                f"  (typed before the choices appeared, ignored: {one_line(draft.text, 60)})\n"
            )
        stream.flush()
        if draft.is_interrupted:
            signal.raise_signal(signal.SIGINT)
        return answer


def _send(stream: TextIO, code: str) -> None:
    stream.write(code)
    stream.flush()


def _screen_for_people(stack: ExitStack) -> TextIO | None:
    if sys.stderr.isatty():
        return sys.stderr
    try:
        return stack.enter_context(Path("/dev/tty").open("w", encoding="utf-8"))
    except OSError:
        return None


async def ask(
    question: Question,
    draft: Draft | None = None,
    terminal: TerminalKeys | None = None,
    screen: Output | None = None,
    running: Callable[[Application[Any]], None] = lambda _app: None,
    *,
    own_words: bool = False,
    plain: bool = False,
    next_mode: Callable[[], None] = lambda: None,
) -> str | QuestionAnswer | None:
    """Wait for the answer to a question that is on the screen already.

    Args:
        question: the question.
        draft: text typed for the next message; text typed meanwhile is added to it.
        terminal: the keyboard; None for that of the process.
        screen: where the choices are drawn; None for stdout.
        running: called with the application, so that it can be ended from outside.
        own_words: allow a written answer; the last choice leads there.
        plain: draw one line for a screen reader; the choices are on the screen already.
        next_mode: called at Shift-Tab.
    """
    draft = draft or Draft()
    keys = AnswerKeys(
        question.choices, asyncio.get_running_loop().time(), draft.text, own_words=own_words
    )
    asking = _QuestionPrompt(
        question, keys, terminal or TerminalKeys(), screen or screen_for(), next_mode, plain=plain
    )
    running(asking.app)
    try:
        return await asking.answer()
    except (EOFError, KeyboardInterrupt):
        return refusal(question)
    finally:
        draft.text, draft.is_interrupted = keys.kept, keys.is_interrupted


class _QuestionPrompt:
    """Passes keys and the time to :class:`AnswerKeys`, and draws its state."""

    def __init__(
        self,
        question: Question,
        keys: AnswerKeys,
        terminal: TerminalKeys,
        screen: Output,
        next_mode: Callable[[], None],
        *,
        plain: bool,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._terminal = terminal
        self.keys = keys
        self._next_mode = next_mode
        self._timer: asyncio.TimerHandle | None = None
        text = FormattedTextControl(
            lambda: (
                plain_choice_fragments(self.keys, question.choices)
                if plain
                else choice_fragments(self.keys, question.choices, screen.get_size().columns)
            ),
            focusable=True,
            show_cursor=False,
        )
        self.app: Application[str | QuestionAnswer | None] = Application(
            layout=Layout(Window(text, wrap_lines=True, dont_extend_height=True)),
            key_bindings=self._bindings(),
            erase_when_done=True,
            input=terminal.keyboard,
            output=screen,
            style=THEME_STYLE,
            color_depth=color_depth,
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE_TIMEOUT
        self.app.before_render += self._drawing
        self.app.after_render += self._drawn

    async def answer(self) -> str | QuestionAnswer | None:
        """Return the answer once there is one."""
        self._set_timer()
        try:
            return await self.app.run_async(handle_sigint=False, set_exception_handler=False)
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add(Keys.Any, eager=True)
        def _(event: KeyPressEvent) -> None:
            for press in event.key_sequence:
                if press.key is Keys.BackTab:
                    self._next_mode()
                elif press.key is Keys.ControlZ:
                    self._terminal.suspend(self.app)
                    self.keys.restart(self._loop.time())
                elif press.key in TERMINAL_EVENTS:
                    self._terminal.terminal_event(press.data)
                elif not self.keys.is_over:
                    key = press.key.value if isinstance(press.key, Keys) else press.key
                    self.keys.press(key, press.data, self._loop.time())
            self._go_on()

        return bindings

    def _wake(self) -> None:
        if self.app.is_running:
            self.keys.wake(self._loop.time(), unread=self._are_keys_unread())
            self._go_on()

    def _are_keys_unread(self) -> bool:
        """Whether there are unread keys, or an unfinished Esc sequence."""
        held = self.app.input.flush_keys()
        self.app.key_processor.feed_multiple(held)
        self.app.key_processor.process_keys()
        return bool(held) or _is_readable(self.app.input)

    def _drawing(self, _app: object) -> None:
        self.keys.drawing(self._loop.time(), unread=_is_readable(self.app.input))
        self._set_timer()

    def _drawn(self, _app: object) -> None:
        if self.keys.drawn():
            self._go_on()

    def _go_on(self) -> None:
        if self.keys.is_over:
            if self.app.future is not None and not self.app.future.done():
                self.app.exit(result=self.keys.answer)
            return
        self._set_timer()
        self.app.invalidate()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = self.keys.deadline
        self._timer = self._loop.call_at(at, self._wake) if at is not None else None


def _is_readable(keyboard: Input) -> bool:
    try:
        return bool(select.select([keyboard.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False
