"""What people see, and everything that they ever saw."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PATIENCE = float(os.environ.get("HOOKLINE_TEST_PATIENCE", "90"))
"""Seconds until a test gives up; none waits for it to pass."""


@dataclass(slots=True)
class Shown:
    """A message of the bot. ``history`` is all that it ever said; ``more`` is the fake's own."""

    chat: str
    id: str
    text: str
    token: str = ""
    is_removed: bool = False
    history: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


class Ledger:
    """Every message of the bot, in the order in which it was sent, over all its processes."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self.changed = threading.Condition()
        self._number = 0

    def show(self, chat: str, text: str, *, id: str = "", token: str = "", **more: Any) -> Shown:  # noqa: A002
        """A message is sent; its id is made where none is given."""
        with self.changed:
            self._number += 1
            made = Shown(chat, id or str(self._number), text, token, history=[text], more=more)
            self.shown.append(made)
            self.changed.notify_all()
            return made

    def edit(self, chat: str, id: str, text: str, **more: Any) -> Shown | None:  # noqa: A002
        """A message is changed; None if it is not there."""
        with self.changed:
            if (found := self.get(chat, id)) is not None:
                found.text = text
                found.more.update(more)
                found.history.append(text)
                self.changed.notify_all()
            return found

    def remove(self, chat: str, id: str) -> Shown | None:  # noqa: A002
        """A message is removed; None if it is not there."""
        with self.changed:
            if (found := self.get(chat, id)) is not None:
                found.is_removed = True
                self.changed.notify_all()
            return found

    def get(self, chat: str, id: str) -> Shown | None:  # noqa: A002
        """A message that stands."""
        return next((one for one in self.messages(chat) if one.id == id), None)

    def with_token(self, chat: str, token: str) -> Shown | None:
        """The message that was sent with a token and stands, for platforms that look it up."""
        return next((o for o in self.messages(chat) if token and o.token == token), None)

    def messages(self, chat: str | None = None) -> list[Shown]:
        """The messages that stand, of one chat or of all."""
        with self.changed:
            return [o for o in self.shown if not o.is_removed and chat in (None, o.chat)]

    def texts(self, chat: str | None = None) -> list[str]:
        """Their texts."""
        return [one.text for one in self.messages(chat)]

    def wait(self, until: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait until something is so; what it was. It is looked at whenever the ledger changes, and
        every tenth of a second. Raises ``AssertionError`` with what stands in the end."""
        ends = time.monotonic() + patience
        with self.changed:
            while not (met := until()):
                if time.monotonic() > ends:
                    raise AssertionError(f"waited in vain; at the end: {self.texts()[-8:]}")
                self.changed.wait(0.1)
            return met

    def find(self, part: str, chat: str | None = None) -> Shown:
        """The first message that stands and holds ``part``, as soon as it is there."""
        shown: Shown = self.wait(
            lambda: next((one for one in self.messages(chat) if part in one.text), None)
        )
        return shown
