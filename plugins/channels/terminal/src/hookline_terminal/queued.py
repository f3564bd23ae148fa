"""Lines that were typed while a turn runs, until their own turn begins."""

from __future__ import annotations

from hookline_markdown import one_line

MOST = 5
"""Lines that are shown at most."""


class Queued:
    """What waits, in the order in which it will run."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, message_id: str, text: str) -> None:
        """A message was typed and has to wait."""
        self._texts[message_id] = text

    def take(self, message_id: str | None) -> str | None:
        """The text of a message whose turn has come, once; None if it did not wait."""
        return self._texts.pop(message_id, None) if message_id is not None else None

    def lines(self, width: int) -> list[str]:
        """The messages that wait, one a line."""
        texts = list(self._texts.values())
        shown = [one_line(f"queued › {text}", width - 1) for text in texts[:MOST]]
        return [*shown, f"and {len(texts) - MOST} more"] if len(texts) > MOST else shown
