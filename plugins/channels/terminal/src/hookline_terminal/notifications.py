"""Calls a person back to the terminal: bell, desktop notification and window title.

Only fixed sentences are sent, no text from outside: a terminal would show it as its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from .terminal_events import FOCUS_IN, FOCUS_OUT

WAITING_TITLE = "● waiting"
QUESTION_TEXT = "Hookline is waiting for your answer."
DONE_TEXT = "Hookline has finished."
_BELL = "\a"
_ST = "\x1b\\"
"""Ends a control sequence of the kind OSC."""
_FOCUS_REPORTS_ON, _FOCUS_REPORTS_OFF = "\x1b[?1004h", "\x1b[?1004l"
_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
_PLAIN_TERMINALS = frozenset({"linux", "dumb", "unknown"})
"""Values of ``TERM`` without titles and notifications: a bell is all they have."""


class TerminalNotifications:
    """Notifies while the terminal does not have the focus.

    Args:
        send: writes a control sequence to the terminal.
        env: the environment, which tells which notifications the terminal knows.
        enabled: False sends nothing at all.
        long_turn_seconds: a shorter turn does not notify at its end.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        env: Mapping[str, str],
        *,
        enabled: bool,
        long_turn_seconds: float,
    ) -> None:
        self._send = send
        self._notification = _notification(env)
        self._is_plain = env.get("TERM", "") in _PLAIN_TERMINALS
        self._enabled = enabled
        self._long_turn_seconds = long_turn_seconds
        self._has_focus: bool | None = None
        """None until the terminal has reported it; some never do."""
        self._has_title = False

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Ask the terminal for focus reports until the end of the block; restore its title."""
        self._control(_FOCUS_REPORTS_ON)
        try:
            yield
        finally:
            self.question_closed()
            self._control(_FOCUS_REPORTS_OFF)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ask for no reports and leave the title alone while another program has the terminal."""
        had_title = self._has_title
        self.question_closed()
        self._control(_FOCUS_REPORTS_OFF)
        try:
            yield
        finally:
            self._control(_FOCUS_REPORTS_ON)
            # Whoever comes back is here; a terminal that never reports the focus still does not.
            self._has_focus = None if self._has_focus is None else True
            if had_title:
                self._set_title()

    def terminal_event(self, data: str) -> None:
        """Take what the terminal sent by itself."""
        if data in (FOCUS_IN, FOCUS_OUT):
            self._has_focus = data == FOCUS_IN

    def question_opened(self) -> None:
        """Notify that a question waits, and say so in the title."""
        if not self._has_title:
            self._set_title()
        self._notify(QUESTION_TEXT)

    def _set_title(self) -> None:
        self._control(f"{_PUSH_TITLE}\x1b]2;{WAITING_TITLE}{_ST}")
        self._has_title = True

    def question_closed(self) -> None:
        """Restore the title."""
        if self._has_title:
            # A terminal that cannot restore it shows its default instead.
            self._control(f"\x1b]2;{_ST}{_POP_TITLE}")
            self._has_title = False

    def turn_ended(self, seconds: float) -> None:
        """Notify of the end of a long turn."""
        if seconds >= self._long_turn_seconds:
            self._notify(DONE_TEXT)

    def _notify(self, text: str) -> None:
        if not self._enabled or self._has_focus:
            return
        self._send(_BELL)
        if self._has_focus is False:
            self._control(self._notification.format(text))

    def _control(self, code: str) -> None:
        if self._enabled and not self._is_plain:
            self._send(code)


def _notification(env: Mapping[str, str]) -> str:
    """Return the sequence for a notification that this terminal knows; others ignore it.

    rxvt-unicode, foot, Konsole and terminals of VTE know OSC 777; iTerm2, kitty, WezTerm, Ghostty
    and others know OSC 9. Some know both and would notify twice.
    """
    term = env.get("TERM", "")
    if term.startswith(("rxvt", "foot")) or env.keys() & {"VTE_VERSION", "KONSOLE_VERSION"}:
        return f"\x1b]777;notify;Hookline;{{}}{_ST}"
    return f"\x1b]9;{{}}{_ST}"
