"""What a terminal sends by itself: reports that are not keys and never become input.

prompt_toolkit reads an unknown sequence as Esc and letters, which would stop a turn, deny an
approval or be sent as text. :mod:`.input_parser` swallows them; the focus alone is passed on.
"""

from __future__ import annotations

import re
from typing import Final

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

FOCUS_IN: Final = "\x1b[I"
FOCUS_OUT: Final = "\x1b[O"
TERMINAL_EVENTS = frozenset(
    {Keys.CPRResponse, Keys.Ignore, Keys.WindowsMouseEvent, Keys.Vt100MouseEvent}
)
"""Keys that the person did not press; the data of ``Keys.Ignore`` says what was sent."""
LONE_ESCAPE = (KeyPress(Keys.Escape, "\x1b"), KeyPress(Keys.Ignore, ""))
"""Esc by itself. The second keeps prompt_toolkit from waiting for a key pressed with Alt."""
STRING = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\")
"""A whole report in a string: colours, the clipboard, the title, the terminal's name."""
UNFINISHED_STRING = re.compile(
    r"\x1b\](?:\d{1,5}(?:;[^\x00-\x20\x7f]{0,100000}\x1b?)?)?\Z"
    r"|\x1b[P_](?:[\dG>=$+!|][^\x00-\x1f\x7f]{0,100000}\x1b?)?\Z"
)
"""The beginning of one. Its first characters tell it from Alt-] and Alt-P, which a person types."""
CONTROL_SEQUENCE = re.compile(
    r"\x1b\[\[[A-E]|\x1b\[M[^\x00-\x1f]{3}|\x1b\[(?![\[M])[0-?]*[ -/]*[@-~]|\x1b\[M(?=[\x00-\x1f])"
)
"""A whole key or report: ``[[A`` is F1 on the Linux console, ``[M`` begins an old mouse report."""
UNFINISHED_SEQUENCE = re.compile(r"\x1b\[(?:[0-?]*[ -/]*|\[|M[^\x00-\x1f]{0,2})\Z")
CUT_SHORT = re.compile(
    r"\x1b(?:\]\d{1,5};[^\x00-\x20\x7f]*|P[\d>=$+!|][^\x00-\x1f\x7f]*"
    r"|\[[0-?]*[ -/]*(?=[\x00-\x1f\x7f]))"
)
"""The beginning of one whose rest never comes, because something else follows."""
LATE_REST = re.compile(
    r"\[(?:M[^\x00-\x1f]{3}|[0-?]*[ -/]*[@-~]|[?>=<\d][0-?]*)(?=\x1b|\Z)|O[A-DFHP-S]\Z"
    r"|\]\d{1,5};[^\x00-\x20\x7f]*|P[\d;]*[>!$+=|][^\x00-\x1f\x7f]*"
)
"""What follows an Esc that came so much earlier that it was taken for the key."""
REPORTS_IN_PASTE = re.compile(
    r"\x1b\](?:1[0-9]|4;\d+|52);[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[(?:[IO]|[?>=][\d;]*[cu]|\d+;\d+R)"
)
"""Reports that came between the pieces of a paste."""

ANSI_SEQUENCES[FOCUS_IN] = ANSI_SEQUENCES[FOCUS_OUT] = Keys.Ignore
