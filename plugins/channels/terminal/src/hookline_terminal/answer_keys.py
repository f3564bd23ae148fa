"""What keys mean while a question is asked. Screen and clock belong to the caller.

A key answers only if it was pressed after the choices were drawn, and they are drawn only once
typing has stopped: after :data:`FIRST_QUIET_SECONDS` without a key, or :data:`QUIET_SECONDS` if
there was one. Every other key is text for the next message and is kept for it. A choice needs two
keys, one that picks and Enter, and Enter counts only if no key follows within
:data:`CONFIRM_SECONDS`: otherwise it ended a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from hookline_hookspecs import QuestionAnswer
from hookline_hookspecs.questions import DENY

FIRST_QUIET_SECONDS = 0.5
"""Seconds without a key before the choices are drawn. Longer than the gap between two keystrokes
and than the delay of a network."""
QUIET_SECONDS = 1.0
"""The same once a key was pressed. Longer than the gap between two words."""
CONFIRM_SECONDS = 0.15
"""Seconds after Enter in which another key shows that Enter ended a line of text."""
OTHER = "Other"
"""The added last choice, which leads to a written answer."""
_ENTER = frozenset({"c-m", "c-j"})
_UP, _DOWN = frozenset({"up", "c-p"}), frozenset({"down", "c-n"})
_ERASE = "c-h"
_PASTE = "<bracketed-paste>"


class AnswerPhase(Enum):
    """What keys mean now."""

    WAITING = "text for the next message; the person may still be typing"
    SHOWING = "text for the next message; the choices are being drawn"
    CHOOSING = "keys pick a choice"
    CONFIRMING = "Enter was pressed; another key takes it back"
    WRITING = "the reason of a refusal, or a written answer"


class AnswerKeys:
    """Turns keys into the answer to one question.

    Args:
        choices: the choices; without any, the answer is written.
        now: the time, in seconds of any clock.
        draft: text typed for the next message so far.
        own_words: allow a written answer: the last choice leads there, or typing does.
    """

    def __init__(
        self, choices: Sequence[str], now: float, draft: str, *, own_words: bool = False
    ) -> None:
        self._choices = tuple(choices)
        self.own_words = own_words
        self._words: str | None = None
        """The written answer that Enter was pressed for."""
        self.kept = draft
        """The draft and the text typed since."""
        self.phase = AnswerPhase.WAITING
        self.deadline: float | None = now + FIRST_QUIET_SECONDS
        """When to call :meth:`wake`; None if only a key changes anything."""
        self.picked: int | None = None
        """Index of the choice that Enter takes."""
        self.is_enter_lost = False
        """Whether the last key was Enter with nothing picked."""
        self.written = ""
        self.is_over = False
        self.answer: str | QuestionAnswer | None = None
        self.is_interrupted = False
        """Whether Ctrl-C ended the question: the turn is to stop, too."""
        self._number = ""
        self._pressed = ""
        """The keys of the current choice, as text in case they turn out to be text."""

    @property
    def can_deny(self) -> bool:
        """Whether Deny is a choice, so that a reason can be given."""
        return DENY in self._choices

    def refuse(self) -> None:
        """End with Deny, or without an answer if that is not a choice."""
        self._end(DENY if self.can_deny else None)

    def restart(self, now: float) -> None:
        """Draw the choices anew, because the screen was away; what was typed blindly is text."""
        if self.phase is not AnswerPhase.WRITING:
            self._keep("", "", now)

    def wake(self, now: float, *, unread: bool) -> None:
        """Handle the deadline. ``unread``: keys are pending that :meth:`press` has not seen."""
        if self.phase is AnswerPhase.WAITING:
            self.deadline = now + QUIET_SECONDS if unread else None
            self.phase = AnswerPhase.WAITING if unread else AnswerPhase.SHOWING
        elif self.phase is AnswerPhase.CONFIRMING:
            self.deadline = now + CONFIRM_SECONDS if unread else None
            if not unread:
                self._confirm()

    def drawing(self, now: float, *, unread: bool) -> None:
        """Call before the screen is drawn."""
        if self.phase is AnswerPhase.SHOWING and unread:
            self.phase, self.deadline = AnswerPhase.WAITING, now + QUIET_SECONDS

    def drawn(self) -> bool:
        """Call after the screen is drawn; True if keys mean something else from now on."""
        if self.phase is not AnswerPhase.SHOWING:
            return False
        self.phase = AnswerPhase.CHOOSING if self._choices else AnswerPhase.WRITING
        return True

    def press(self, key: str, text: str, now: float) -> None:
        """Handle a key: its name in prompt_toolkit, and its text."""
        self.is_enter_lost = False
        if key == "c-c":
            self.is_interrupted = True
            self.refuse()
        elif self.phase is AnswerPhase.WRITING:
            self._write(key, text, now)
        elif self.phase is AnswerPhase.CHOOSING:
            self._choose(key, text, now)
        elif self.phase is AnswerPhase.CONFIRMING and key == "escape":
            self.refuse()
        else:
            self._keep(key, text, now)

    def _keep(self, key: str, text: str, now: float) -> None:
        """Go back to waiting; what was typed belongs to the next message."""
        self.kept = edited(self.kept + self._pressed, key, text)
        self._number = self._pressed = self.written = ""
        self.picked = self._words = None
        self.phase, self.deadline = AnswerPhase.WAITING, now + QUIET_SECONDS

    def _confirm(self) -> None:
        if self._words is not None:
            self._end(self._words)
        elif self.own_words and self.picked == len(self._choices) - 1:
            self.phase, self._pressed = AnswerPhase.WRITING, ""
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
                self.phase = AnswerPhase.WRITING
        elif key in _ENTER and self.picked is not None:
            self._pressed += "\n"
            self.phase, self.deadline = AnswerPhase.CONFIRMING, now + CONFIRM_SECONDS
        elif (place := self._numbered(key)) is not None:
            self._pick(place, number=str(place + 1))
            self._pressed += key
        elif key == _ERASE:
            self.picked, self._number, self._pressed = None, "", ""
        elif key in _ENTER:
            self._keep("", "", now)  # an empty line is not kept
            self.is_enter_lost = True
        elif edited("", key, text):
            if self.own_words and not self.kept:
                self.phase, self.written = AnswerPhase.WRITING, edited(self._pressed, key, text)
                self.picked, self._number, self._pressed = None, "", ""
            else:
                self._keep(key, text, now)

    def _numbered(self, key: str) -> int | None:
        """Return the index that a digit picks, together with earlier digits if that is valid."""
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
                self.phase, self.deadline = AnswerPhase.CONFIRMING, now + CONFIRM_SECONDS
        elif key in _ENTER:
            words = " ".join(self.written.split())
            if self.can_deny:
                self._end(QuestionAnswer(DENY, words) if words else DENY)
            elif words:
                self._end(words)
        elif key == "c-u":
            self.written = ""
        else:
            self.written = edited(self.written, key, text)

    def _end(self, answer: str | QuestionAnswer | None) -> None:
        if not self.is_over:
            self.answer, self.is_over, self.deadline = answer, True, None


def edited(line: str, key: str, text: str) -> str:
    """Return ``line`` after a key: text, pastes and newlines are added, Backspace removes."""
    if key in _ENTER:
        return line + "\n"
    if key == _ERASE:
        return line[:-1]
    if key == _PASTE:
        return line + text.replace("\r\n", "\n").replace("\r", "\n")
    return line + text if len(key) == 1 else line
