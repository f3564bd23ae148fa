"""The versions of files that a session has read, so that newer changes are not overwritten."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Context

from .disk import FileStamp

_STASH_KEY = "read_versions"


class ReadVersions:
    """The versions of files that one session has read or written."""

    def __init__(self) -> None:
        self._stamps: dict[Path, FileStamp] = {}

    @classmethod
    def of(cls, ctx: Context) -> ReadVersions:
        """The versions that the session of ``ctx`` has read."""
        versions: ReadVersions = ctx.stash.session.setdefault(_STASH_KEY, cls())
        return versions

    def record(self, real: Path, stamp: FileStamp) -> None:
        """Record that the session has read or written this version."""
        self._stamps[real] = stamp

    def has_read(self, real: Path) -> bool:
        """Whether the session has read any version of the file."""
        return real in self._stamps

    def is_current(self, real: Path, stamp: FileStamp) -> bool:
        """Whether ``stamp`` is the version that the session has read."""
        known = self._stamps.get(real)
        return known is not None and known.matches(stamp)
