"""Asking: the small screen below a question, and the keyboard that answers it.

:mod:`.question_text` is what is seen, :mod:`.choosing` which keys count. Whatever else is typed,
before the question and while it waits, is kept for the next message.
"""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from hookline_hookspecs import Question
from hookline_markdown import literal, one_line
from prompt_toolkit.application import Application
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from .choosing import DENY, Chooser
from .question_text import below, question_text

ESCAPE = 0.1
"""Seconds after which an Esc is a key, and not the beginning of an arrow."""
_TOLD = frozenset({Keys.CPRResponse, Keys.Ignore, Keys.WindowsMouseEvent, Keys.Vt100MouseEvent})
"""What comes from the terminal and not from the person."""


@dataclass(slots=True)
class Draft:
    """What was typed for the next message."""

    text: str = ""


def screen_for(stream: TextIO | None = None) -> Output:
    """The screen behind ``stream``, by default stdout.

    It is never asked where its cursor is: some terminals do not answer, which prompt_toolkit would
    tell in the middle of the conversation, and an answer that comes late reads as keys.
    """
    output = create_output(stream)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


def refusal(question: Question) -> str | None:
    """What Ctrl-C and the end of input mean."""
    return DENY if DENY in question.choices else None


def answer_line(answer: str | None) -> str:
    """What the screen keeps of an answer."""
    reason = getattr(answer, "reason", "")
    told = f"{answer}: {reason}" if reason else answer
    return f"  → {literal(told) if told else 'no answer'}"


async def ask_beside_output(question: Question, *, own_words: bool = False) -> str | None:
    """Ask while no chat is open, on stderr or, if that is no terminal, on the terminal itself.

    With ``own_words`` the question stands on the screen already.
    """
    with ExitStack() as stack:
        stream = _screen_for_people(stack)
        if stream is None:
            return None
        keyboard = create_input(sys.stdin)
        stack.callback(keyboard.close)
        # Raw from here on: what is typed meanwhile must not be shown inside of the question.
        stack.enter_context(keyboard.raw_mode())
        if not own_words:
            stream.write(question_text(question))
            stream.flush()
        draft = Draft()
        answer = await ask(question, draft, keyboard, screen_for(stream), own_words=own_words)
        stream.write(answer_line(answer) + "\n")
        if draft.text.strip():
            stream.write(
                f"  (typed before the choices came, and not used: {one_line(draft.text, 60)})\n"
            )
        stream.flush()
        return answer


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
    keyboard: Input | None = None,
    screen: Output | None = None,
    running: Callable[[Application[Any]], None] = lambda _app: None,
    *,
    own_words: bool = False,
) -> str | None:
    """Wait for the answer to a question that is on the screen already.

    ``draft`` has what was typed for the next message, and gets what is typed meanwhile. ``running``
    is told the application that waits, so that it can be ended. With ``own_words`` the answer may
    be written, and the last choice leads there.
    """
    draft = draft or Draft()
    chooser = Chooser(
        question.choices, asyncio.get_running_loop().time(), draft.text, own_words=own_words
    )
    asking = _Asking(question, chooser, keyboard, screen or screen_for())
    running(asking.app)
    try:
        return await asking.answer()
    except (EOFError, KeyboardInterrupt):
        return refusal(question)
    finally:
        draft.text = asking.chooser.kept


class _Asking:
    """Brings keys and the time to a :class:`Chooser`, and shows what it says."""

    def __init__(
        self, question: Question, chooser: Chooser, keyboard: Input | None, screen: Output
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.chooser = chooser
        self._timer: asyncio.TimerHandle | None = None
        text = FormattedTextControl(
            lambda: below(self.chooser, question.choices, screen.get_size().columns),
            focusable=True,
            show_cursor=False,
        )
        self.app: Application[str | None] = Application(
            layout=Layout(Window(text, wrap_lines=True, dont_extend_height=True)),
            key_bindings=self._bindings(),
            erase_when_done=True,
            input=keyboard,
            output=screen,
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE
        self.app.before_render += self._drawing
        self.app.after_render += self._drawn

    async def answer(self) -> str | None:
        """The answer, once there is one."""
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
                if press.key not in _TOLD and not self.chooser.is_over:
                    key = press.key.value if isinstance(press.key, Keys) else press.key
                    self.chooser.press(key, press.data, self._loop.time())
            self._go_on()

        return bindings

    def _wake(self) -> None:
        if self.app.is_running:
            self.chooser.wake(self._loop.time(), unread=self._are_keys_unread())
            self._go_on()

    def _are_keys_unread(self) -> bool:
        """Whether the terminal holds keys that were not read, or an Esc that was not finished."""
        held = self.app.input.flush_keys()
        self.app.key_processor.feed_multiple(held)
        self.app.key_processor.process_keys()
        return bool(held) or _is_readable(self.app.input)

    def _drawing(self, _app: object) -> None:
        self.chooser.drawing(self._loop.time(), unread=_is_readable(self.app.input))
        self._set_timer()

    def _drawn(self, _app: object) -> None:
        if self.chooser.drawn():
            self._go_on()

    def _go_on(self) -> None:
        if self.chooser.is_over:
            if self.app.future is not None and not self.app.future.done():
                self.app.exit(result=self.chooser.answer)
            return
        self._set_timer()
        self.app.invalidate()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = self.chooser.deadline
        self._timer = self._loop.call_at(at, self._wake) if at is not None else None


def _is_readable(keyboard: Input) -> bool:
    try:
        return bool(select.select([keyboard.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False
