"""Questions: the text a person must see, the keys that answer, and the small screen that waits.

An approval is shown before anything is read, in full, with every invisible character spelt out.
Keys are looked at only after :data:`GRACE`, so that somebody who was typing something else does
not approve with it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from hookline_hookspecs import Question
from hookline_markdown import literal
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import PromptSession

GRACE = 0.5
"""Seconds during which keys are thrown away: longer than the pause between two keys of a person
who types, shorter than reading takes."""
DENY = "Deny"
_LETTERS = {"Once": "o", "This session": "s", "Always": "a", DENY: "d"}
"""The letters of an approval's choices (CONTRACT, Channels)."""
_MOST_KEYS = 9


def question_text(question: Question) -> str:
    """The question in full: text, reason, preview, each invisible character spelt out."""
    lines = [f"? {literal(question.text)}"]
    if question.reason and question.reason not in question.text:
        lines.append(f"  {literal(question.reason)}")
    # The bar keeps a preview from passing for a line of ours.
    lines += [f"  │ {line}" for line in literal(question.preview).split("\n") if question.preview]
    if not _by_key(question.choices):
        lines += [f"  {n}. {literal(text)}" for n, text in enumerate(question.choices, 1)]
    return "\n".join(lines) + "\n"


def keys(choices: Sequence[str]) -> dict[str, str]:
    """Key to choice: digits for all, letters for those of an approval."""
    found = {str(number): choice for number, choice in enumerate(choices, 1)}
    return found | {_LETTERS[choice]: choice for choice in choices if choice in _LETTERS}


def key_line(choices: Sequence[str]) -> str:
    """The choices with their keys on one line."""
    parts = [
        f"{'/'.join(key for key, meant in keys(choices).items() if meant == choice)} "
        f"{literal(choice)}"
        for choice in choices
    ]
    return "   ".join(parts) + "  › "


def refusal(question: Question) -> str | None:
    """What Ctrl-C and the end of input mean."""
    return DENY if DENY in question.choices else None


async def ask_beside_output(question: Question) -> str | None:
    """Ask while no chat is open, on stderr or, if that is no terminal, on the terminal itself."""
    with ExitStack() as stack:
        stream = _screen_for_people(stack)
        if stream is None:
            return None
        stream.write(question_text(question))
        stream.flush()
        _forget_typed(sys.stdin)
        keyboard = create_input(sys.stdin)
        stack.callback(keyboard.close)
        choice = await ask(question, keyboard, create_output(stream))
        stream.write(f"  → {literal(choice) if choice else 'no answer'}\n")
        stream.flush()
        return choice


def _screen_for_people(stack: ExitStack) -> TextIO | None:
    if sys.stderr.isatty():
        return sys.stderr
    try:
        return stack.enter_context(Path("/dev/tty").open("w", encoding="utf-8"))
    except OSError:
        return None


async def ask(
    question: Question,
    keyboard: Input | None = None,
    screen: Output | None = None,
    running: Callable[[Application[Any]], None] = lambda _app: None,
) -> str | None:
    """Wait for the answer to a question that is on the screen already.

    ``running`` is told the application that waits, so that it can be ended.
    """
    try:
        if _by_key(question.choices):
            by_key = _Keys(question, keyboard, screen)
            running(by_key.app)
            return await by_key.answer()
        session: PromptSession[str] = PromptSession("  › ", input=keyboard, output=screen)
        running(session.app)
        while True:
            text = await session.prompt_async(handle_sigint=False, set_exception_handler=False)
            answer = _typed(question, text.strip())
            if answer is not None:
                return answer
    except (EOFError, KeyboardInterrupt):
        return refusal(question)


def _by_key(choices: Sequence[str]) -> bool:
    return 0 < len(choices) <= _MOST_KEYS


def _typed(question: Question, text: str) -> str | None:
    if not question.choices:
        return text or None
    if text.isdecimal() and 0 < int(text) <= len(question.choices):
        return question.choices[int(text) - 1]
    return next((c for c in question.choices if c.casefold() == text.casefold()), None)


class _Keys:
    """The screen of a question with keys; empty until keys count."""

    def __init__(self, question: Question, keyboard: Input | None, screen: Output | None) -> None:
        self._question = question
        self._meant = keys(question.choices)
        self._ready = False
        line = FormattedTextControl(self._line, focusable=True)
        self.app: Application[str | None] = Application(
            layout=Layout(Window(line, wrap_lines=True, dont_extend_height=True)),
            key_bindings=self._bindings(),
            erase_when_done=True,
            input=keyboard,
            output=screen,
        )

    async def answer(self) -> str | None:
        """The choice whose key was pressed."""
        timer = asyncio.get_running_loop().call_later(GRACE, self._begin)
        try:
            return await self.app.run_async(handle_sigint=False, set_exception_handler=False)
        finally:
            timer.cancel()

    def _line(self) -> StyleAndTextTuples:
        return [("bold", key_line(self._question.choices))] if self._ready else []

    def _begin(self) -> None:
        self._ready = True
        self.app.invalidate()

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add(Keys.Any, eager=True)
        def _(event: KeyPressEvent) -> None:
            choice = self._meant.get(event.data.casefold())
            if self._ready and choice is not None:
                event.app.exit(result=choice)

        @bindings.add("c-c", eager=True)
        @bindings.add("c-d", eager=True)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=refusal(self._question))

        return bindings


def _forget_typed(stream: TextIO) -> None:
    """Throw away what was typed before the question was there."""
    try:
        import termios
    except ImportError:
        return
    try:
        termios.tcflush(stream, termios.TCIFLUSH)
    except (OSError, termios.error):
        return
