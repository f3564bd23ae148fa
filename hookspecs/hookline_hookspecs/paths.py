"""Guarded file access."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import Container


class Paths(Protocol):
    """Guarded file access: inside the workspace or an allowed root, with symbolic links resolved,
    and never to secret files."""

    workspace: Path
    """The folder that relative paths are resolved against."""

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """Return the real path of what a model or user wrote. Raises ``PermissionError``."""

    def judge(self, path: str) -> str | None:
        """Return why ``path`` would be refused, or None."""

    def caution(self, path: str) -> str | None:
        """Return why a person should approve writing to ``path``, or None: programs run it or
        agents follow it by themselves."""

    def open_read(self, path: Path) -> BinaryIO:
        """Open a regular file for reading, with no race between :meth:`resolve` and opening."""

    def walk(self, root: Path, *, skip: Container[str] = (), limit: int = 100000) -> Iterator[Path]:
        """Yield the readable files below ``root``, except in folders named in ``skip``. Stops after
        ``limit`` directory entries."""
