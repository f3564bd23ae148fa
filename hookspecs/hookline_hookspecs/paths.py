"""Guarded file access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import Container
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class FileRisk:
    """A file, or a part of it, that programs run later.

    ``name`` is the file or the part (``scripts of package.json``). ``what`` completes a sentence
    that begins with the name (``runs when …``). ``at_once``: it runs by itself as soon as someone
    installs the package.
    """

    name: str
    what: str
    at_once: bool = False


class Paths(Protocol):
    """Guarded file access: inside the workspace or an allowed root, with symbolic links resolved,
    and never to secret files."""

    workspace: Path
    """The folder that relative paths are resolved against."""

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """Return the real path of what a model or user wrote. Raises ``PermissionError``."""

    def check_path(self, path: str) -> str | None:
        """Return why ``path`` would be refused, or None."""

    def caution(self, path: str) -> str | None:
        """Return why a person should approve writing to ``path``, or None: programs run it or
        agents follow it by themselves."""

    def protection(self, path: str, workspace: Path | None = None) -> str | None:
        """Return why a program may make or change an absolute path only with approval, or None:
        programs run it, agents follow it, or it decides where programs connect. The reason
        completes a sentence that begins with the path. Only names count; no link is followed.
        ``workspace`` is used instead of this one."""

    def credential(self, path: str) -> str | None:
        """Return what kind of secret a file of this name holds, or None; reads nothing."""

    def runs_later(self, path: str) -> bool:
        """Return True for a file that a person may run later, such as a Makefile."""

    def change_risk(self, path: str, before: str, after: str) -> FileRisk | None:
        """Return the part of a change to a file's text that will run later; None if none does."""

    def give(self, path: Path) -> None:
        """Allow reading a file that came with a message, although it is in Hookline's home."""

    def write_refusal(self, path: Path) -> str | None:
        """Return why a resolved path may only be read, or None: :meth:`give` was called for it,
        :meth:`allow_reading` applies to it, or it is code that Hookline itself runs."""

    def read_only_places(self) -> tuple[str, ...]:
        """Return the folders and files that tools may not write, wherever the workspace is: the
        code that Hookline itself runs (:mod:`hookline_hookspecs.own_code`)."""

    def allow_reading(self, path: Path) -> AbstractContextManager[None]:
        """Allow this task to read a file, or all of a folder, outside the workspace until the block
        ends. Secrets and Hookline's own files stay refused."""

    def folder(self, real: Path) -> AbstractContextManager[tuple[str, int | None]]:
        """Return the last component of a resolved path and a handle on its folder, for use as
        ``dir_fd`` (None if the system has no such handles). Missing folders are created, and no
        link is followed. Raises ``PermissionError`` if it may only be read, and ``OSError``."""

    def open_read(self, path: Path) -> BinaryIO:
        """Open a regular file for reading, with no race between :meth:`resolve` and opening."""

    def open_write(self, path: str | Path) -> AbstractContextManager[BinaryIO]:
        """Return a stream whose content replaces the file when the block ends without an error.
        Missing folders are created. Raises ``PermissionError`` for a refused path."""

    def walk(self, root: Path, *, skip: Container[str] = (), limit: int = 100000) -> Iterator[Path]:
        """Yield the readable files below ``root``, except in folders named in ``skip``. Stops after
        ``limit`` directory entries."""
