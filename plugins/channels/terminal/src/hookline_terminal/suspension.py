"""Ctrl-Z: stops the program as any other of a shell, and draws it again after ``fg``."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.input import Input

from .keyboard import open_keyboard

OWN_STOP_SECONDS = 1.0
"""Seconds after a stop of its own in which the process takes a SIGCONT for the end of that."""


class TerminalKeys:
    """The keyboard, and what its keys do in every prompt.

    Args:
        keyboard: where keys come from; None for the process's terminal.
        terminal_event: called with what the terminal sends by itself.
        stopped: a context in which the process is stopped; the shell has the terminal meanwhile.
    """

    def __init__(
        self,
        keyboard: Input | None = None,
        terminal_event: Callable[[str], None] = lambda _data: None,
        stopped: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.keyboard = keyboard or open_keyboard()
        self.terminal_event = terminal_event
        self._stopped = stopped
        self._continued_at = float("-inf")

    def suspend(self, app: Application[Any]) -> None:
        """Stop the process group until a shell continues it; ``app`` is drawn again then."""
        if sys.platform == "win32":
            return
        app.renderer.erase()
        with self._stopped(), self.keyboard.cooked_mode():
            os.kill(0, signal.SIGTSTP)
            self._continued_at = time.monotonic()
        app.invalidate()

    def continued(self, app: Application[Any] | None) -> None:
        """Call at SIGCONT: whoever stopped the process may have changed the terminal's mode and
        the screen."""
        if time.monotonic() - self._continued_at < OWN_STOP_SECONDS:
            return
        self.keyboard.raw_mode().__enter__()  # what to restore at the end is known already
        if app is not None and app.is_running:
            app.renderer.reset()
            app.invalidate()
