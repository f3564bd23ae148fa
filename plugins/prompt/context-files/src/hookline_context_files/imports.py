"""The files that an ``AGENTS.md`` imports with ``@path``.

A path ends like a text file and is relative to the file that names it. In code it is an example;
only files of the same tree are imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .document import Document
from .file_reader import UnreadableFile, printable_name

MAX_DEPTH = 5
"""Files that import one another, counted from the first."""
MAX_IMPORTS = 50
"""Files that one project imports."""
IMPORT_SUFFIXES = (".md", ".mdc", ".markdown", ".txt", ".rst")
"""Other files are not imported: instructions are prose."""

_CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|`[^`\n]*`|<!--.*?-->", re.M | re.S)
_IMPORT = re.compile(
    r"(?<![@/.`])(?<![^\W\u3040-\u30ff\u3400-\u9fff])@"
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|“([^”\n]+)”|<([^<>\n]+)>"
    r"|((?:~|\.{1,2})?/?(?:\\[ ]|[\w.\-/+&%#()\[\]])*\w))"
)
"""A path in quotes or angle brackets, with backslashes before its spaces, or without spaces."""
_SUFFIX_WITHIN = re.compile(
    rf"(?:{'|'.join(map(re.escape, IMPORT_SUFFIXES))})(?=[^\x00-\x7f])", re.I
)
"""The end of a path that letters of a script without spaces follow."""


@dataclass(slots=True)
class Imports:
    """Reads the imported files of one project.

    root: the top of the tree. read: returns a file, or None if it is empty; may raise
    ``UnreadableFile``. ``complaints`` are sentences for the person.
    """

    root: Path
    read: Callable[[Path, str], Document | None]
    complaints: list[str] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def has(self, file: Path) -> bool:
        """Whether the file has been imported."""
        return file in self._seen

    def of(self, file: Path, document: Document) -> list[Document]:
        """The imported files of ``document``, each after the one that names it."""
        self._seen.add(file)
        return self._imported(file, document, 1)

    def _imported(self, file: Path, document: Document, depth: int) -> list[Document]:
        found: list[Document] = []
        for written in imported_paths(document.start):
            target = self._target(file, written, document.label)
            if target is None or target in self._seen:
                continue
            if depth >= MAX_DEPTH or len(self._seen) > MAX_IMPORTS:
                limit = f"more than {MAX_DEPTH} levels deep"
                if depth < MAX_DEPTH:
                    limit = f"not one of the first {MAX_IMPORTS}"
                self._complain(document.label, written, f"it is {limit}")
                continue
            self._seen.add(target)
            label = printable_name(os.path.relpath(target, self.root))
            try:
                imported = self.read(target, f"{label} (imported by {document.label})")
            except UnreadableFile as error:
                self.complaints.append(str(error))
                continue
            if imported is not None:
                found += [imported, *self._imported(target, imported, depth + 1)]
        return found

    def _target(self, file: Path, written: str, label: str) -> Path | None:
        """The real path of an import; None if it is refused, or no import at all."""
        path = Path(os.path.realpath(file.parent / Path(written).expanduser()))
        if not written.lower().endswith(IMPORT_SUFFIXES):
            return None
        if not path.is_relative_to(self.root):
            self._complain(label, written, f"it is outside {self.root.name}/")
            return None
        if not path.is_file():
            self._complain(label, written, "there is no such file")
            return None
        return path

    def _complain(self, label: str, written: str, why: str) -> None:
        self.complaints.append(f"{label} imports @{printable_name(written)}, but {why}.")


def imported_paths(text: str) -> Sequence[str]:
    """The paths that ``text`` imports, in order, each once."""
    prose = _CODE.sub(" ", text)
    return list(dict.fromkeys(_path(found) for found in _IMPORT.finditer(prose)))


def _path(found: re.Match[str]) -> str:
    if not (bare := found[5]):
        return str(next(filter(None, found.groups()))).strip()
    path = bare.replace("\\ ", " ")
    if not path.lower().endswith(IMPORT_SUFFIXES) and (end := _SUFFIX_WITHIN.search(path)):
        return path[: end.end()]
    return path
