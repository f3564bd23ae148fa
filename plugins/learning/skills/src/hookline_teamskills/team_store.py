"""The protocol of a team's store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from hookline_hookspecs import HooklineError

from .entries import TeamEntry

MAX_FILES = 100
"""Files of one version."""
MAX_FILE_BYTES = 1_000_000

Files: TypeAlias = Mapping[str, bytes]
"""Content by path."""


class StoreUnreachable(HooklineError):
    """The store cannot be read or written, or is damaged; the text says why."""


class StoreChanged(HooklineError):
    """Another member added entries since the store was read."""


class TeamStore(Protocol):
    """An append-only list of entries, and the files of each version.

    The tip identifies a state of the store; it is empty for an empty store. All methods raise
    :class:`StoreUnreachable`.
    """

    async def tip(self) -> str:
        """Return the current tip; cheap."""

    async def load(self) -> tuple[str, list[TeamEntry], list[str]]:
        """Return the tip, the entries, and a sentence for each entry that cannot be read."""

    async def files(self, name: str, number: int) -> dict[str, bytes]:
        """Return the stored files of a version; empty if there are none."""

    async def append(
        self, tip: str, entries: Sequence[TeamEntry], files: Mapping[int, Files] | None = None
    ) -> None:
        """Add entries of one skill, and the files of its new versions by number; all or nothing.

        Raises:
            StoreChanged: the tip is no longer ``tip``; nothing was added.
        """
