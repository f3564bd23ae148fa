"""Finds the hint for a path, opens it through ``ctx.paths`` and cuts it."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Paths, Refused

HINT_FILE_NAMES = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
"""Names of files with hints, in the order in which a folder is searched."""
MAX_HINT_FILE_BYTES = 10_000_000
"""Larger files are ignored."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A file with hints. ``name`` is its path below the workspace, printable on one line."""

    name: str
    text: str
    file: Path

    @property
    def key(self) -> str:
        """The beginning of each note for this folder; it identifies the note in the history."""
        return f"Hints for {os.path.dirname(self.name)}/ from "  # noqa: PTH120

    def note(self, text: str) -> str:
        """Return the whole note, with ``text`` as the content of the file."""
        return f"{self.key}{self.name}:\n{text}"

    def cut(self, text: str, room: int) -> str:
        """Return ``text``, or its start and a marker, within ``room`` characters. If not even the
        marker fits, only the marker is returned.
        """
        if len(text) <= room:
            return text
        kept = max(0, room - len(self._marker(len(text))))
        return text[:kept] + self._marker(len(text) - kept)

    def _marker(self, left_out: int) -> str:
        return f"\n[… {left_out} characters left out; the file has the rest]"


def find_hint(paths: Paths, path: str, levels: int) -> Hint | None:
    """Return the nearest hint at or above ``path``, inside the workspace but not in its root.

    levels: how many folders are searched, the touched one included. A file that is empty, binary,
    too large or cannot be opened counts as absent.
    """
    root = Path(os.path.realpath(paths.workspace))
    try:
        touched = paths.resolve(path)
        folder = touched if touched.is_dir() else touched.parent
    except (Refused, OSError, ValueError):
        return None
    for place in _upwards(folder, root, levels):
        for name in HINT_FILE_NAMES:
            text = _text(paths, place / name)
            if text:
                return Hint(_printable(place.relative_to(root) / name), text, place / name)
    return None


def _upwards(folder: Path, root: Path, levels: int) -> Iterator[Path]:
    for place in (folder, *folder.parents)[:levels]:
        if root not in place.parents:
            return
        yield place


def _text(paths: Paths, file: Path) -> str:
    """Return the text of a file, stripped; empty if it cannot be read."""
    try:
        real = paths.resolve(str(file))
        if not real.is_file():
            return ""
        with paths.open_read(real) as stream:
            data = stream.read(MAX_HINT_FILE_BYTES + 1)
    except (Refused, OSError, ValueError):
        return ""
    if len(data) > MAX_HINT_FILE_BYTES:
        return ""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    return "" if "\0" in text else text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _printable(path: Path) -> str:
    text = os.fsencode(path.as_posix()).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
