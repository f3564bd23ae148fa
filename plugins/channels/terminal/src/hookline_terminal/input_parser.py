"""Turns what comes from the terminal into keys, pastes and nothing else.

In place of prompt_toolkit's parser, which takes a report that it does not know, or one that comes
in pieces, for keys. Here a report of the terminal is swallowed whole wherever it was split, Esc is
told from the start of a sequence, and lines that come at once are one paste.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from .key_reports import reported_keys
from .terminal_events import (
    CONTROL_SEQUENCE,
    CUT_SHORT,
    LATE_REST,
    LONE_ESCAPE,
    REPORTS_IN_PASTE,
    STRING,
    UNFINISHED_SEQUENCE,
    UNFINISHED_STRING,
)

ESCAPE_TIMEOUT = 0.2
"""Seconds after which Esc counts as that key. A terminal sends a sequence in one piece, which a
slow network seldom divides; :data:`LATE_TIMEOUT` is for when it does."""
ALT_TIMEOUT = 0.03
"""Seconds between Esc and a character that are one key, pressed with Alt."""
LATE_TIMEOUT = 1.0
"""Seconds after Esc in which the rest of a sequence is still known as that, and does not become
text; and for which the two characters that begin a sequence are kept."""
REPORT_TIMEOUT = 5.0
"""Seconds for which the beginning of a report is kept, which no person types."""
PASTE_TIMEOUT = 2.0
"""Seconds without data after which a paste without its end mark counts as complete."""
ESC = "\x1b"
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_BREAKS = "\r\n"
_TYPED_ONLY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters of keys; a paste has tabs and line breaks only."""
_SS3 = re.compile(r"\x1bO[ -~]")
_ARROWS = frozenset({Keys.Up, Keys.Down, Keys.Left, Keys.Right})


class InputParser(Vt100Parser):
    """Parses input for prompt_toolkit.

    Args:
        feed_key_callback: called with each key.
        clock: returns seconds.
    """

    def __init__(
        self,
        feed_key_callback: Callable[[KeyPress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._fed_at = self._escaped_at = float("-inf")
        super().__init__(feed_key_callback)

    def reset(self, request: bool = False) -> None:
        """Forget what is unfinished."""
        self._held = ""
        """The beginning of a sequence."""
        self._pasted: str | None = None
        """What has come of a paste that is not complete."""

    def feed(self, data: str) -> None:
        """Take input; what is unfinished waits for the next call or :meth:`flush`."""
        if not data:
            return
        now = self._clock()
        pause, self._fed_at = now - self._fed_at, now
        self._drop_stale(pause)
        if self._held == ESC and pause > ALT_TIMEOUT and (data[0] not in "[]OP_" or data == "O"):
            self.flush()  # pressed one after the other
        if now - self._escaped_at < LATE_TIMEOUT and LATE_REST.match(data):
            data = ESC + data
        self._escaped_at = float("-inf")
        self._take(self._held + data)

    def flush(self) -> None:
        """Take Esc for that key if nothing has followed it."""
        held = self._held
        if held == ESC:
            self._held, self._escaped_at = "", self._clock()
            self._emit(LONE_ESCAPE)
        elif held == f"{ESC}O":
            self._held = ""
            self._alt("O")

    def _drop_stale(self, pause: float) -> None:
        """Give up what has been unfinished for too long."""
        if self._pasted is not None and pause > PASTE_TIMEOUT:
            self._end_paste(self._pasted)
        if self._held == ESC and pause > ESCAPE_TIMEOUT:
            self.flush()
        if self._held and pause > (REPORT_TIMEOUT if len(self._held) > 2 else LATE_TIMEOUT):
            self._held = ""

    def _take(self, data: str) -> None:
        self._held = ""
        while data:
            if self._pasted is not None:
                data = self._take_paste(data)
            elif data[0] == ESC:
                data = self._take_escape(data)
            else:
                text, escape, rest = data.partition(ESC)
                self._text(text)
                data = escape + rest

    def _take_paste(self, data: str) -> str:
        """Take the data of a paste; returns what follows it."""
        pasted = self._pasted or ""
        searched = max(0, len(pasted) - len(_PASTE_END))
        pasted += data
        end = pasted.find(_PASTE_END, searched)
        if end < 0:
            self._pasted = pasted
            return ""
        self._end_paste(pasted[:end])
        return pasted[end + len(_PASTE_END) :]

    def _end_paste(self, text: str) -> None:
        self._pasted = None
        self._emit([KeyPress(Keys.BracketedPaste, REPORTS_IN_PASTE.sub("", text))])

    def _take_escape(self, data: str) -> str:
        """Take what Esc begins; returns what follows it."""
        if found := STRING.match(data):
            return data[found.end() :]
        for pattern in (CONTROL_SEQUENCE, _SS3):
            if found := pattern.match(data):
                self._sequence(found[0])
                return data[found.end() :]
        unfinished = (UNFINISHED_STRING, UNFINISHED_SEQUENCE)
        if data in (ESC, f"{ESC}O") or any(pattern.match(data) for pattern in unfinished):
            self._held = data
            return ""
        if found := CUT_SHORT.match(data):
            return data[found.end() :]
        if data[1] == ESC or (len(data) > 2 and data[1:3].isprintable()):
            return self._take_lone_escape(data)
        self._alt(data[1])
        return data[2:]

    def _take_lone_escape(self, data: str) -> str:
        """Take Esc that a key follows: with Alt, or text typed after Esc."""
        key = CONTROL_SEQUENCE.match(data, 1)
        if key is not None and ANSI_SEQUENCES.get(key[0]) in _ARROWS:
            self._emit([KeyPress(Keys.Escape, ESC)])
            self._sequence(key[0])
            return data[key.end() :]
        self._emit(LONE_ESCAPE)
        return data[1:]

    def _alt(self, char: str) -> None:
        self._emit([KeyPress(Keys.Escape, ESC), _key(char)])

    def _sequence(self, sequence: str) -> None:
        """Pass on the keys that a sequence stands for; a report of the terminal has none."""
        if sequence == _PASTE_START:
            self._pasted = ""
            return
        reported = reported_keys(sequence)
        known = ANSI_SEQUENCES.get(sequence, ())
        if reported is not None:
            self._emit(reported)
            return
        names = known if isinstance(known, tuple) else (known,)
        self._emit(KeyPress(name, "" if number else sequence) for number, name in enumerate(names))

    def _text(self, text: str) -> None:
        """Pass on characters; lines that came at once are a paste, whose last break is Enter."""
        text = text.replace("\r\n", "\r")
        typed = text.lstrip(_BREAKS)
        inner = typed.rstrip(_BREAKS)
        if any(mark in inner for mark in _BREAKS) and not _TYPED_ONLY.search(inner):
            self._emit(map(_key, text[: len(text) - len(typed)]))
            self._emit([KeyPress(Keys.BracketedPaste, inner)])
            text = typed[len(inner) :][:1]
        self._emit(map(_key, text))

    def _emit(self, keys: Iterable[KeyPress]) -> None:
        for key in keys:
            self.feed_key_callback(key)


def _key(char: str) -> KeyPress:
    key = ANSI_SEQUENCES.get(char, char)
    return KeyPress(key if isinstance(key, str) else char, char)
