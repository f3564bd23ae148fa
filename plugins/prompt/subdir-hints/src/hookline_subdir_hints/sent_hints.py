"""Which hints are in the model's context, so that none is sent twice."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Context, ToolResultBlock


class SentHints:
    """The hints in the context of one session.

    Hints of earlier turns are searched in the history itself, which survives restarts and reflects
    ``/undo`` and compaction. Only the hints of this turn's results are stored here, because results
    of parallel calls are not in the history yet.
    """

    def __init__(self) -> None:
        self._new: set[str] = set()
        self.lock = asyncio.Lock()
        """Held while a result is processed, so that parallel results do not add the same hint
        twice."""

    def contains(self, ctx: Context, key: str) -> bool:
        """Return whether a note that begins with ``key`` is in the context of the session."""
        return key in self._new or _in_history(ctx, key)

    def add(self, key: str) -> None:
        """Record that the note that begins with ``key`` was added to a result of this turn."""
        self._new.add(key)

    def clear(self) -> None:
        """Drop this turn's hints after a compaction, which may have removed them from the
        context."""
        self._new.clear()


def _in_history(ctx: Context, key: str) -> bool:
    mark = f"\nNote: {key}"
    return any(
        isinstance(block, ToolResultBlock) and mark in block.text
        for message in ctx.history
        if message.role == "user"
        for block in message.blocks
    )
