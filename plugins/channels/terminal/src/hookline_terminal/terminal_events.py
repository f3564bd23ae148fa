"""What a terminal sends by itself: reports that are not keys and never become input.

prompt_toolkit reads an unknown sequence as Esc and letters, which would deny an approval.
"""

from __future__ import annotations

from typing import Final

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.keys import Keys

FOCUS_IN: Final = "\x1b[I"
FOCUS_OUT: Final = "\x1b[O"
TERMINAL_EVENTS = frozenset(
    {Keys.CPRResponse, Keys.Ignore, Keys.WindowsMouseEvent, Keys.Vt100MouseEvent}
)
"""Keys that the person did not press; the data of ``Keys.Ignore`` says what was sent."""

ANSI_SEQUENCES[FOCUS_IN] = ANSI_SEQUENCES[FOCUS_OUT] = Keys.Ignore
