"""Which hints the model still has before it, so that none is sent twice."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Context, ToolResultBlock


class Shown:
    """The hints of one session that are in its context.

    What was sent is looked up in the history itself: that survives a restart of the process, and
    knows what ``/undo`` and compaction took away. Only what this turn's results brought is kept
    here, because results that are worked on side by side are not in the history yet.
    """

    def __init__(self) -> None:
        self._new: set[str] = set()
        self.lock = asyncio.Lock()
        """Held while a result is worked on, so that two at a time do not bring the same hint."""

    def knows(self, ctx: Context, key: str) -> bool:
        """Whether a note that begins with ``key`` is in the context of the session."""
        return key in self._new or _in_history(ctx, key)

    def note(self, key: str) -> None:
        """The note that begins with ``key`` goes out with a result of this turn."""
        self._new.add(key)

    def forget(self) -> None:
        """What this turn's results brought may be gone; from now on the history tells."""
        self._new.clear()


def _in_history(ctx: Context, key: str) -> bool:
    mark = f"\nNote: {key}"
    return any(
        isinstance(block, ToolResultBlock) and mark in block.text
        for message in ctx.history
        if message.role == "user"
        for block in message.blocks
    )
