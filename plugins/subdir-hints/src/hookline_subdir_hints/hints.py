"""The hint that belongs to a path: found above it, opened through ``ctx.paths``, cut."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Paths, Refused

NAMES = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
"""The files that hold hints, in the order in which they are looked for in a folder."""
LARGEST = 10_000_000
"""Bytes of the largest file that is read."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A file with hints. ``name`` is its path below the workspace, fit to be shown in a line;
    ``text`` is in code points."""

    name: str
    text: str

    @property
    def key(self) -> str:
        """How every note for this folder begins, by which it is known again."""
        return f"Hints for {os.path.dirname(self.name)}/ from "  # noqa: PTH120

    def note(self, text: str) -> str:
        """The whole note, with ``text`` as what the file says."""
        return f"{self.key}{self.name}:\n{text}"

    def cut(self, text: str, room: int) -> str:
        """``text``, or its start and a marker, within ``room`` characters.

        Where not even the marker fits, only the marker is left.
        """
        if len(text) <= room:
            return text
        kept = max(0, room - len(self._marker(len(text))))
        return text[:kept] + self._marker(len(text) - kept)

    def _marker(self, left_out: int) -> str:
        return f"\n[… {left_out} characters left out; the file has the rest]"


def find_hint(paths: Paths, path: str, levels: int) -> Hint | None:
    """The nearest hint at or above what ``path`` names, inside the workspace, not its root.

    levels: how many folders are looked into, the touched one included. A file that is empty,
    binary, too large or not to be opened counts as absent.
    """
    root = Path(os.path.realpath(paths.workspace))
    try:
        touched = paths.resolve(path)
        folder = touched if touched.is_dir() else touched.parent
    except (Refused, OSError, ValueError):
        return None
    for place in _upwards(folder, root, levels):
        for name in NAMES:
            text = _text(paths, place / name)
            if text:
                return Hint(_shown(place.relative_to(root) / name), text)
    return None


def _upwards(folder: Path, root: Path, levels: int) -> Iterator[Path]:
    for place in (folder, *folder.parents)[:levels]:
        if root not in place.parents:
            return
        yield place


def _text(paths: Paths, file: Path) -> str:
    """The text of a file, without white space around it; empty where there is none to show."""
    try:
        real = paths.resolve(str(file))
        if not real.is_file():
            return ""
        with paths.open_read(real) as stream:
            data = stream.read(LARGEST + 1)
    except (Refused, OSError, ValueError):
        return ""
    if len(data) > LARGEST:
        return ""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    return "" if "\0" in text else text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _shown(path: Path) -> str:
    text = os.fsencode(path.as_posix()).decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
