"""What a plugin has learned, for ``hookline memory list|log|undo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = dict[str, Any]


class LearnedSource(Protocol):
    """What one plugin has learned; added with ``host.services.add(LearnedSource, …)``."""

    @property
    def name(self) -> str:
        """The plugin's name; its log entries are named ``NAME:NUMBER``."""

    async def list(self) -> Sequence[Row]:
        """Return everything that is remembered: ``kind chat text at session turn turn_id``."""

    async def log(self, limit: int) -> Sequence[Row]:
        """Return what was learned and changed, newest first.

        Entries have ``number chat at session turn changes undone_by``, and each change has ``kind
        op before after``.
        """

    async def undo(self, number: int) -> str:
        """Undo an entry of the log; return a sentence that says so.

        Raises ``HooklineError`` with a sentence.
        """
