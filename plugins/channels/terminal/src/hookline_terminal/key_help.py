"""The table of keys that ``?`` at an empty line and ``/keys`` show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

KEYS = (
    ("Enter", "send; while a turn is running, the message is queued"),
    (
        "Alt-Enter, Ctrl-J, \\ Enter",
        "begin a new line (Shift-Enter too, where the terminal sends it)",
    ),
    ("Tab, Enter", "take the highlighted entry of the / or @ menu; Esc closes it"),
    ("↑ ↓", "earlier messages, of other chats too"),
    ("Ctrl-R", "search them; Ctrl-R again goes further back"),
    ("Esc", "stop the turn or the command; close the menu"),
    ("Esc Esc", "clear the line, ↑ brings it back; at an empty line: go back (/rewind)"),
    ("Ctrl-C", "stop the turn or the command; else clear the line; twice at an empty line ends"),
    ("Ctrl-Z", "suspend Hookline; the shell's fg continues it"),
    ("Ctrl-D", "end the chat, as /exit does"),
    ("Ctrl-G", "edit the line in $VISUAL or $EDITOR"),
    ("Ctrl-V, Alt-V", "paste from the clipboard, a picture too"),
    ("Ctrl-O", "show all of the last folded result"),
    ("Shift-Tab", "change the mode: ask, auto, plan"),
    ("@path", "attach a file, a folder or a picture of the workspace"),
    ("!command", "run a command; its output goes with your next message (not of !vim)"),
    ("/", "slash commands; /help lists them"),
    ("?", "this table"),
)
"""Keys and what they do, in the order of the table."""
MIN_TABLE_COLUMNS = 60
"""On a narrower screen, descriptions are below their keys."""


def table(width: int) -> str:
    """Return the table for a screen of ``width`` columns."""
    return "\n".join(_rows(width))


def _rows(width: int) -> Iterator[str]:
    column = max(len(keys) for keys, _ in KEYS) + 2
    for keys, does in KEYS:
        if width < MIN_TABLE_COLUMNS:
            yield f"  {keys}"
            yield from textwrap.wrap(
                does, width - 1, initial_indent="    ", subsequent_indent="    "
            )
            continue
        first, *more = textwrap.wrap(does, width - column - 3)
        yield f"  {keys:{column}}{first}"
        yield from (" " * (column + 2) + line for line in more)
