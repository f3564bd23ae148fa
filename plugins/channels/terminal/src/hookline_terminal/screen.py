"""Writes above the input line, in order, whether a prompt is waiting there or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from prompt_toolkit.application import Application


class Screen:
    """Takes text at any time; called in the event loop's thread alone.

    ``app`` is the prompt that is waiting now, if there is one; it is drawn again below.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.app: Application[Any] | None = None
        self._waiting: list[str] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep what is written until the end of the block: another program has the screen."""
        self._waiting = []
        try:
            yield
        finally:
            waiting, self._waiting = self._waiting, None
            for text in waiting:
                self.write(text)

    def write(self, text: str) -> None:
        """Write ``text`` and, if it lacks one, a newline."""
        if self._waiting is not None:
            self._waiting.append(text)
            return
        app = self.app if self.app is not None and self.app.is_running else None
        if app is not None:
            # `run_in_terminal` would hand the keyboard back to the terminal for a moment, in which
            # Ctrl-C is a signal and Ctrl-D is lost.
            app.renderer.erase()
        self._stream.write(text if text.endswith("\n") else text + "\n")
        self._stream.flush()
        if app is not None:
            app.invalidate()

    def send(self, code: str) -> None:
        """Send what the terminal itself understands, and shows nothing of."""
        self._stream.write(code)
        self._stream.flush()

    def redraw(self) -> None:
        """Draw the prompt again, because something it shows has changed."""
        if self.app is not None and self.app.is_running:
            self.app.invalidate()
