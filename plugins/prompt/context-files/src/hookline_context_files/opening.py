"""Opens plain files and the targets of links.

A link, anywhere on the path, is followed only if ``ctx.paths`` allows it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import Paths, Refused
from hookline_hookspecs.caching import Watch

from .document import Document, NotText, decoded

LARGEST = 10_000_000
"""Bytes of the largest file that is read."""

# A pipe must not make the opening wait, nor a terminal become the process's own.
_PLAIN = os.O_RDONLY | sum(
    getattr(os, name, 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)


class Unreadable(Exception):
    """A file that exists and cannot be used; the text tells the person which and why."""


class Opener:
    """Reads the files of one session.

    paths: the guard of the session's workspace.
    most: characters of one text that will be shown at most.
    watch: notes what is looked at, before it is.
    """

    def __init__(self, paths: Paths, most: int, watch: Watch) -> None:
        self._paths = paths
        self._most = most
        self.watch = watch
        self.opened: list[Path] = []
        """The files that were read and not empty."""

    def guarded(self, file: Path, label: str) -> Document | None:
        """Return a file of the workspace; None if it does not exist or is empty.

        Raises:
            Unreadable: ``ctx.paths`` refuses it, or it cannot be read as a text.
        """
        return self._read(file, label, guarded=self._paths)

    def own(self, file: Path, label: str) -> Document | None:
        """Return a file outside of the workspace, such as ``SOUL.md``.

        It is opened if it is a plain file on a path without links (``file`` begins with a resolved
        folder); otherwise it is treated like one of the workspace. Result and errors as for
        :meth:`guarded`.
        """
        plain = os.path.realpath(file) == str(file)
        return self._read(file, label, guarded=None if plain else self._paths)

    def names(self, folder: Path, ending: str) -> list[str]:
        """Return the names in a folder with this suffix in any case, sorted, without hidden ones.

        Raises:
            Unreadable: the folder cannot be listed, or is reached by a link that leads out.
        """
        self.watch.look(folder)
        try:
            if os.path.realpath(folder) != str(folder):
                folder = self._paths.resolve(str(folder))
            found = os.listdir(folder)  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (Refused, OSError, ValueError) as error:
            raise Unreadable(f"{shown(folder.name)} was not looked into: {_why(error)}") from error
        wanted = (n for n in found if n.lower().endswith(ending) and not n.startswith("."))
        return sorted(wanted, key=os.fsencode)

    def _read(self, file: Path, label: str, guarded: Paths | None) -> Document | None:
        try:
            if file.is_dir():
                return None
            with _plain(file) if guarded is None else _checked(guarded, file) as stream:
                data = stream.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise Unreadable(f"{label} was left out: it has more than {LARGEST} bytes.")
            text = decoded(data)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NotText:
            raise Unreadable(f"{label} was left out: it is binary, not text.") from None
        except (Refused, OSError, ValueError) as error:
            raise Unreadable(f"{label} was left out: {_why(error)}") from error
        if not text:
            return None
        self.opened.append(file)
        return Document.of(label, text, self._most)


def shown(name: str) -> str:
    """Return a file's name on one line, with unprintable characters replaced."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _checked(paths: Paths, file: Path) -> BinaryIO:
    return paths.open_read(paths.resolve(str(file)))


def _plain(file: Path) -> BinaryIO:
    handle = os.open(file, _PLAIN)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is a link, a device, a socket or a pipe")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return f"{error}"
