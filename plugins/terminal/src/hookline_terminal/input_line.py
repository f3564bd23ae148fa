"""The input line: many lines, history, completion, and a pause in which the draft is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from hookline_hookspecs import Paths
from prompt_toolkit.application import Application
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, HSplit, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.shortcuts import PromptSession

from .completion import ChatCompleter

PAUSED: Final = "\0paused"
"""What :meth:`InputLine.read` returns when it was paused; nobody can type it."""
HISTORY = "history"
"""The file of what was typed, in the plugin's own folder."""


class InputLine:
    """Reads one message at a time.

    Args:
        paths: for the completion of references.
        folder: where the history is kept.
        above: what stands above the line; asked at every drawing.
        interrupt: called at Ctrl-C; False means that there was nothing to stop.
        status: what stands below the line; asked at every drawing.
        expand: called at Ctrl-O, for all of what was folded.
    """

    def __init__(
        self,
        paths: Paths,
        folder: Path,
        above: Callable[[], StyleAndTextTuples],
        interrupt: Callable[[], bool],
        status: Callable[[], StyleAndTextTuples],
        expand: Callable[[], None],
    ) -> None:
        self._above = above
        self._interrupt = interrupt
        self._expand = expand
        self._draft = Document()
        self._leaving = False
        history = folder / HISTORY
        history.touch(mode=0o600)
        self._session = _Session(
            self._message,
            multiline=True,
            history=FileHistory(str(history)),
            completer=ChatCompleter(paths),
            complete_in_thread=True,
            key_bindings=self._bindings(),
            prompt_continuation="  ",
            reserve_space_for_menu=4,
            erase_when_done=True,
        )
        add_status(self._session, status)

    @property
    def app(self) -> Application[str]:
        """What draws the line while it reads."""
        return self._session.app

    async def read(self) -> str | None:
        """A message, :data:`PAUSED`, or None when the person leaves."""
        draft, self._draft = self._draft, Document()
        try:
            return await self._session.prompt_async(
                default=draft, handle_sigint=False, set_exception_handler=False
            )
        except EOFError:
            return None

    def pause(self) -> None:
        """End the reading and keep the draft for the next one."""
        if self.app.is_running and self.app.future is not None and not self.app.future.done():
            self._draft = self._session.default_buffer.document
            self.app.exit(result=PAUSED)

    def _message(self) -> StyleAndTextTuples:
        hint = "(Ctrl-C again ends the chat) " if self._leaving else ""
        return [*self._above(), ("fg:ansibrightblack", hint), ("bold", "› ")]

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            self._leaving = False
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.newline(copy_margin=False)
            else:
                buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @bindings.add("c-o")
        def _(_event: KeyPressEvent) -> None:
            self._expand()

        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if self._interrupt():
                self._leaving = False
            elif buffer.text:
                buffer.reset()
            elif self._leaving:
                event.app.exit(exception=EOFError)
            else:
                self._leaving = True

        return bindings


class _Session(PromptSession[str]):
    """Keeps rows for the menu of completions only while there is one, so that the status stays just
    below the line."""

    def _get_default_buffer_control_height(self) -> Dimension:
        if self.default_buffer.complete_state is None:
            return Dimension()
        return super()._get_default_buffer_control_height()


def add_status(session: PromptSession[str], status: Callable[[], StyleAndTextTuples]) -> None:
    """Show ``status`` below the line.

    The prompt's own ``bottom_toolbar`` is hidden until the terminal has said where its cursor is,
    after every line that is written above: it would flicker, or never show.
    """
    line = Window(FormattedTextControl(status), height=1, dont_extend_height=True)
    shown = ConditionalContainer(line, ~is_done & Condition(lambda: bool(status())))
    session.layout.container = HSplit([session.layout.container, shown])
