"""The rules by which keys become the answer to a question. No screen, no clock: both are given.

A key counts only if it was pressed after the choices were on the screen, and the choices come only
when nobody types: after :data:`QUIET` seconds without a key, or :data:`PAUSE` once there was one.
Every other key is text for the next message and is kept for it. A choice needs two keys, one that
picks and Enter, and Enter is taken only if nothing follows it within :data:`CONFIRM` seconds, since
what goes on was no answer but a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from hookline_hookspecs import Refusal

QUIET = 0.5
"""Seconds without a key before the choices come: longer than the pause between two keys of a person
who types, and than the way of a key through a network."""
PAUSE = 1.0
"""The same for somebody who is typing: longer than the pause between two words."""
CONFIRM = 0.15
"""Seconds after Enter in which a further key shows that it ended a line of text."""
DENY, OTHER = "Deny", "Other"
_ENTER = frozenset({"c-m", "c-j"})
_UP, _DOWN = frozenset({"up", "c-p"}), frozenset({"down", "c-n"})
_ERASE = "c-h"
_PASTE = "<bracketed-paste>"


class Phase(Enum):
    """What keys mean now."""

    WAITING = "text for the next message; nobody has stopped typing yet"
    SHOWING = "the same; the choices are being drawn"
    CHOOSING = "they choose"
    CONFIRMING = "Enter was pressed; anything but silence takes it back"
    WRITING = "the reason of a refusal, or an answer in words"


class Chooser:
    """A question while it waits for its answer.

    Args:
        choices: to choose from; without any, the answer is written.
        now: the time, in seconds of any clock.
        draft: what was typed for the next message so far.
        own_words: an answer may be written too: the last choice leads there, or typing does.
    """

    def __init__(
        self, choices: Sequence[str], now: float, draft: str = "", *, own_words: bool = False
    ) -> None:
        self._choices = tuple(choices)
        self.own_words = own_words
        self._words: str | None = None
        """The written answer that Enter was pressed for."""
        self.kept = draft
        """The draft, and what was typed since."""
        self.phase = Phase.WAITING
        self.deadline: float | None = now + QUIET
        """When :meth:`wake` is to be called; None if only a key changes anything."""
        self.picked: int | None = None
        """The place of the choice that Enter takes."""
        self.is_enter_lost = False
        """Whether Enter was pressed last, and nothing was picked."""
        self.written = ""
        self.is_over = False
        self.answer: str | None = None
        self._number = ""
        self._pressed = ""
        """The keys of the choice at hand, as the text that they are if they turn out to be none."""

    @property
    def can_deny(self) -> bool:
        """Whether a reason can be given."""
        return DENY in self._choices

    def refuse(self) -> None:
        """End with the refusal, or without an answer where there is none."""
        self._end(DENY if self.can_deny else None)

    def wake(self, now: float, *, unread: bool) -> None:
        """The deadline has come. ``unread``: keys were pressed that :meth:`press` has not seen."""
        if self.phase is Phase.WAITING:
            self.deadline = now + PAUSE if unread else None
            self.phase = Phase.WAITING if unread else Phase.SHOWING
        elif self.phase is Phase.CONFIRMING:
            self.deadline = now + CONFIRM if unread else None
            if not unread:
                self._confirm()

    def drawing(self, now: float, *, unread: bool) -> None:
        """The screen is about to show what it should."""
        if self.phase is Phase.SHOWING and unread:
            self.phase, self.deadline = Phase.WAITING, now + PAUSE

    def drawn(self) -> bool:
        """The screen shows what it should; True if keys mean something else from now on."""
        if self.phase is not Phase.SHOWING:
            return False
        self.phase = Phase.CHOOSING if self._choices else Phase.WRITING
        return True

    def press(self, key: str, text: str, now: float) -> None:
        """Take a key: its name as in prompt_toolkit, and the text that it stands for."""
        self.is_enter_lost = False
        if key == "c-c":
            self.refuse()
        elif self.phase is Phase.WRITING:
            self._write(key, text, now)
        elif self.phase is Phase.CHOOSING:
            self._choose(key, text, now)
        elif self.phase is Phase.CONFIRMING and key == "escape":
            self.refuse()
        else:
            self._keep(key, text, now)

    def _keep(self, key: str, text: str, now: float) -> None:
        """Back to waiting; what was typed belongs to the next message."""
        self.kept = edited(self.kept + self._pressed, key, text)
        self._number = self._pressed = self.written = ""
        self.picked = self._words = None
        self.phase, self.deadline = Phase.WAITING, now + PAUSE

    def _confirm(self) -> None:
        if self._words is not None:
            self._end(self._words)
        elif self.own_words and self.picked == len(self._choices) - 1:
            self.phase, self._pressed = Phase.WRITING, ""
        elif self.picked is not None:
            self._end(self._choices[self.picked])

    def _choose(self, key: str, text: str, now: float) -> None:
        last = len(self._choices) - 1
        if key in _UP:
            self._pick(last if not self.picked else self.picked - 1)
        elif key in _DOWN:
            self._pick(0 if self.picked is None or self.picked == last else self.picked + 1)
        elif key in ("escape", "c-d"):
            self.refuse()
        elif key == "c-i":
            if self.can_deny:
                self.phase = Phase.WRITING
        elif key in _ENTER and self.picked is not None:
            self._pressed += "\n"
            self.phase, self.deadline = Phase.CONFIRMING, now + CONFIRM
        elif (place := self._numbered(key)) is not None:
            self._pick(place, number=str(place + 1))
            self._pressed += key
        elif key == _ERASE:
            self.picked, self._number, self._pressed = None, "", ""
        elif key in _ENTER:
            self._keep("", "", now)  # an empty line is no message
            self.is_enter_lost = True
        elif edited("", key, text):
            if self.own_words and not self.kept:
                self.phase, self.written = Phase.WRITING, edited(self._pressed, key, text)
                self.picked, self._number, self._pressed = None, "", ""
            else:
                self._keep(key, text, now)

    def _numbered(self, key: str) -> int | None:
        """The choice that a digit stands for, after the digits before it where that is one."""
        if len(key) != 1 or key not in "0123456789":
            return None
        for number in (self._number + key, key):
            if 0 < int(number) <= len(self._choices):
                return int(number) - 1
        return None

    def _pick(self, place: int, number: str = "") -> None:
        self.picked, self._number = place, number

    def _write(self, key: str, text: str, now: float) -> None:
        if key in ("escape", "c-d"):
            self.refuse()
        elif key in _ENTER and self.own_words:
            if self.written.strip():
                self._words, self._pressed = self.written.strip(), f"{self.written}\n"
                self.phase, self.deadline = Phase.CONFIRMING, now + CONFIRM
        elif key in _ENTER:
            words = " ".join(self.written.split())
            if self.can_deny:
                self._end(Refusal(words) if words else DENY)
            elif words:
                self._end(words)
        elif key == "c-u":
            self.written = ""
        else:
            self.written = edited(self.written, key, text)

    def _end(self, answer: str | None) -> None:
        if not self.is_over:
            self.answer, self.is_over, self.deadline = answer, True, None


def edited(line: str, key: str, text: str) -> str:
    """``line`` after a key: text and pastes are added, Enter is a newline, Backspace takes away."""
    if key in _ENTER:
        return line + "\n"
    if key == _ERASE:
        return line[:-1]
    if key == _PASTE:
        return line + text.replace("\r\n", "\n").replace("\r", "\n")
    return line + text if len(key) == 1 else line
