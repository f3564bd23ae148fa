"""Reads plain files, and the targets of links that ``ctx.paths`` allows."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import Paths, Refused
from hookline_hookspecs.caching import Watch

from .document import Document, NotText, decode_text

MAX_FILE_BYTES = 10_000_000
"""Larger files are left out."""

# Opening a pipe must not block, and a terminal must not become the controlling one.
_OPEN_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)


class UnreadableFile(Exception):
    """A file exists but cannot be used; the text names it and the reason, for the person."""


class FileReader:
    """Reads the files of one session.

    paths: the guard of the session's workspace.
    max_chars: characters of one text that are shown at most.
    watch: records each path before it is examined.
    """

    def __init__(self, paths: Paths, max_chars: int, watch: Watch) -> None:
        self._paths = paths
        self._max_chars = max_chars
        self.watch = watch
        self.opened: list[Path] = []
        """The files that were read and not empty."""

    def guarded(self, file: Path, label: str) -> Document | None:
        """Return a file of the workspace; None if it does not exist or is empty.

        Raises:
            UnreadableFile: ``ctx.paths`` refuses it, or it is not readable text.
        """
        return self._read(file, label, guarded=self._paths)

    def own(self, file: Path, label: str) -> Document | None:
        """Return a file outside the workspace, such as ``SOUL.md``.

        ``file`` begins with a resolved folder. A plain file on a path without links is opened
        directly, any other like a file of the workspace. Result and errors are those of
        :meth:`guarded`.
        """
        plain = os.path.realpath(file) == str(file)
        return self._read(file, label, guarded=None if plain else self._paths)

    def names(self, folder: Path, ending: str) -> list[str]:
        """Return the names in a folder with this suffix in any case, sorted, without hidden ones.

        Raises:
            UnreadableFile: the folder cannot be listed, or a link to it leads outside.
        """
        self.watch.look(folder)
        try:
            if os.path.realpath(folder) != str(folder):
                folder = self._paths.resolve(str(folder))
            found = os.listdir(folder)  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (Refused, OSError, ValueError) as error:
            raise UnreadableFile(
                f"{printable_name(folder.name)} was skipped: {_reason(error)}"
            ) from error
        matching = (n for n in found if n.lower().endswith(ending) and not n.startswith("."))
        return sorted(matching, key=os.fsencode)

    def _read(self, file: Path, label: str, guarded: Paths | None) -> Document | None:
        try:
            if file.is_dir():
                return None
            with _open_plain(file) if guarded is None else _open_guarded(guarded, file) as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise UnreadableFile(
                    f"{label} was left out: it has more than {MAX_FILE_BYTES} bytes."
                )
            text = decode_text(data)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except NotText:
            raise UnreadableFile(f"{label} was left out: it is binary, not text.") from None
        except (Refused, OSError, ValueError) as error:
            raise UnreadableFile(f"{label} was left out: {_reason(error)}") from error
        if not text:
            return None
        self.opened.append(file)
        return Document.of(label, text, self._max_chars)


def printable_name(name: str) -> str:
    """Return a file's name on one line, with unprintable characters replaced."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _open_guarded(paths: Paths, file: Path) -> BinaryIO:
    return paths.open_read(paths.resolve(str(file)))


def _open_plain(file: Path) -> BinaryIO:
    handle = os.open(file, _OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is a link, a device, a socket or a pipe")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return f"{error}"
