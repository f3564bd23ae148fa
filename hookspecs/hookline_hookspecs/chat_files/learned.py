"""What a plugin has learnt, for ``hookline memory list|log|undo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = dict[str, Any]


class LearnedSource(Protocol):
    """What one plugin has learnt; offered with ``host.services.add(LearnedSource, …)``."""

    @property
    def name(self) -> str:
        """The plugin's name; its log entries are named ``NAME:NUMBER``."""

    async def list(self) -> Sequence[Row]:
        """Everything that is remembered: ``kind chat text at session turn turn_id``."""

    async def log(self, limit: int) -> Sequence[Row]:
        """What was learnt and changed, newest first: ``number chat at session turn changes
        undone_by``, each change with ``kind op before after``."""

    async def undo(self, number: int) -> str:
        """Take an entry of the log back and say so. Raises ``HooklineError`` with a sentence."""
