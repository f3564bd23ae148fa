"""Writes text above the input line, in order, whether or not a prompt is active."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from prompt_toolkit.application import Application


class TerminalScreen:
    """Writes to the terminal. Used in the event loop's thread only.

    ``app`` is the active prompt, if there is one; it is drawn again below the text.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.app: Application[Any] | None = None
        self._held_text: list[str] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold writes back until the end of the block, while another program has the screen."""
        self._held_text = []
        try:
            yield
        finally:
            held, self._held_text = self._held_text, None
            for text in held:
                self.write(text)

    def write(self, text: str) -> None:
        """Write ``text``, and a newline if it does not end with one."""
        if self._held_text is not None:
            self._held_text.append(text)
            return
        app = self.app if self.app is not None and self.app.is_running else None
        if app is not None:
            # `run_in_terminal` would leave raw mode for a moment, in which Ctrl-C is a signal and
            # Ctrl-D is lost.
            app.renderer.erase()
        self.stream.write(text if text.endswith("\n") else text + "\n")
        self.stream.flush()
        if app is not None:
            app.invalidate()

    def send(self, code: str) -> None:
        """Send a control sequence to the terminal."""
        self.stream.write(code)
        self.stream.flush()

    def redraw(self) -> None:
        """Draw the prompt again after something in it has changed."""
        if self.app is not None and self.app.is_running:
            self.app.invalidate()
