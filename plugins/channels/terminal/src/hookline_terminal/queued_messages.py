"""Messages sent while a turn runs, shown until their own turn begins."""

from __future__ import annotations

from hookline_markdown import one_line

MAX_SHOWN = 5


class QueuedMessages:
    """The queued messages, in the order of their turns."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, message_id: str, text: str) -> None:
        """Add a message."""
        self._texts[message_id] = text

    def take(self, message_id: str | None) -> str | None:
        """Remove a message whose turn begins and return its text; None if it is not queued."""
        return self._texts.pop(message_id, None) if message_id is not None else None

    def lines(self, width: int) -> list[str]:
        """Return the queued messages, one per line."""
        texts = list(self._texts.values())
        shown = [one_line(f"queued › {text}", width - 1) for text in texts[:MAX_SHOWN]]
        hidden = len(texts) - len(shown)
        return [*shown, f"and {hidden} more"] if hidden else shown
