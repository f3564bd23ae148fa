"""Which version of which file a session has read, so that newer work is not overwritten."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Context

from .disk import Stamp

_KEY = "seen"


class Seen:
    """The stamps of the files that one session has read or written itself."""

    def __init__(self) -> None:
        self._stamps: dict[Path, Stamp] = {}

    @classmethod
    def of(cls, ctx: Context) -> Seen:
        """The session's own."""
        seen: Seen = ctx.stash.session.setdefault(_KEY, cls())
        return seen

    def note(self, real: Path, stamp: Stamp) -> None:
        """The session now knows this version."""
        self._stamps[real] = stamp

    def knows(self, real: Path) -> bool:
        """Whether the session has read the file, in whatever version."""
        return real in self._stamps

    def current(self, real: Path, stamp: Stamp) -> bool:
        """Whether ``stamp`` is the version that the session has read."""
        known = self._stamps.get(real)
        return known is not None and known.same(stamp)
