"""What a team's store must do, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from hookline_hookspecs import HooklineError

from .entries import Entry

MOST_FILES, MOST_BYTES = 100, 1_000_000
"""Files of one version, and bytes of one of them."""

Files: TypeAlias = Mapping[str, bytes]
"""Content by path."""


class Unreachable(HooklineError):
    """The store cannot be read or written now, or is not what it was; a sentence."""


class Moved(HooklineError):
    """Somebody else has added entries since the store was read."""


class TeamStore(Protocol):
    """Entries, which are only ever added, and the files of each version.

    A state of the store has a name, its tip; the empty store's is empty. All methods raise
    :class:`Unreachable`.
    """

    async def tip(self) -> str:
        """Return the tip now; cheap."""

    async def load(self) -> tuple[str, list[Entry], list[str]]:
        """Return the tip, the entries, and a sentence for each thing that is no entry."""

    async def files(self, name: str, number: int) -> dict[str, bytes]:
        """Return the files of a version as they are stored; none if there are none."""

    async def append(
        self, tip: str, entries: Sequence[Entry], files: Mapping[int, Files] | None = None
    ) -> None:
        """Add entries of one skill, and the files of its new versions by number. All or nothing.

        Raises:
            Moved: the tip is not ``tip`` any more; nothing was added.
        """
