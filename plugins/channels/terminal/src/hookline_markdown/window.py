"""The size of the window that a terminal shows."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress

NARROWEST = 20


def window_size() -> os.terminal_size:
    """The columns and lines of the terminal that the process writes to.

    ``COLUMNS`` and ``LINES`` count only where there is no terminal, or one that does not know its
    size: under tmux and ssh they are often those of another window, long gone.
    """
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(AttributeError, ValueError, OSError):  # closed, or no terminal
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            if size.columns and size.lines:
                return size
    return shutil.get_terminal_size()


def window_width() -> int:
    """The columns to write in, at least ``NARROWEST``."""
    return max(NARROWEST, window_size().columns)
