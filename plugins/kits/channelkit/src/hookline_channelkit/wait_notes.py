"""Shows in a chat that the model's server is down, in one message that is edited.

Without it, a person would see for minutes only that the bot is typing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hookline_hookspecs import Wait

from .boards import Boards

MIN_SHOWN_SECONDS = 4.0
"""Shorter waits are over before a message about them is read."""


@dataclass(frozen=True, slots=True)
class _Outage:
    reason: str
    since: float


class WaitNotes:
    """The messages about waits, one for each turn.

    Args:
        boards: edits them.
        now: Unix time in seconds.
    """

    def __init__(self, boards: Boards, now: Callable[[], float]) -> None:
        self._boards, self._now = boards, now
        self._outages: dict[tuple[str, str], _Outage] = {}

    def wait(self, chat: str, inbound: str, wait: Wait) -> None:
        """Show that the turn that answers ``inbound`` waits."""
        outage = self._outages.get((chat, inbound))
        if outage is None and wait.seconds < MIN_SHOWN_SECONDS:
            return
        since = self._now() if outage is None else outage.since
        self._outages[chat, inbound] = _Outage(wait.reason, since)
        text = f"{wait.reason}; trying again in {wait.seconds:.0f} s. /stop ends the wait."
        self._boards.show(chat, _key(inbound), text)

    def end(self, chat: str, inbound: str, *, answered: bool) -> None:
        """End the wait, if there is one; ``answered``: the model's server answers again."""
        outage = self._outages.pop((chat, inbound), None)
        if outage is not None:
            seconds = self._now() - outage.since
            how = "answered" if answered else "no answer"
            self._boards.show(chat, _key(inbound), f"{outage.reason}; {how} after {seconds:.0f} s.")

    def end_turn(self, chat: str, inbound: str) -> None:
        """End the turn that answers ``inbound``."""
        self.end(chat, inbound, answered=False)
        self._boards.end(chat, _key(inbound))


def _key(inbound: str) -> str:
    """Return another key than that of the turn's own board."""
    return f"{inbound}#wait"
