"""Size of the terminal window."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress

MIN_COLUMNS = 20


def window_size() -> os.terminal_size:
    """Return columns and lines of the terminal that the process writes to.

    ``COLUMNS`` and ``LINES`` are used only without a terminal that knows its size: under tmux and
    ssh they often describe another window.
    """
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(AttributeError, ValueError, OSError):  # closed, or no terminal
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            if size.columns and size.lines:
                return size
    return shutil.get_terminal_size()


def window_width() -> int:
    """Return the columns to write in, at least :data:`MIN_COLUMNS`."""
    return max(MIN_COLUMNS, window_size().columns)
