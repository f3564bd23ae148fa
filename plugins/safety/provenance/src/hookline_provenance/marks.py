"""Which files came from outside: by when they changed, by path, and by content."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import Path

from hookline_hookspecs import Origin, merge_origins
from hookline_hookspecs.file_origins import local_file_origins

_NAMES = "md txt rst csv tsv log html pdf pyc png jpg jpeg gif svg webp"
INERT = frozenset([f".{name}" for name in _NAMES.split(" ")])
"""Endings of files that no program takes for a program because it finds them in a folder."""
LOOK_SECONDS = 2.0
"""How long a call waits while the files of its folders are looked at; while anything is marked,
what is left then counts as from outside."""
MAX_UNMARKED_FILES = 2_000
"""Files of a folder, at any depth, that are looked at while nothing is marked: then only files that
a browser or curl has labelled count."""
MAX_CHANGED_FILES = 100_000
"""Files of a folder, at any depth, that are looked at for what a call has changed."""
MAX_HASHED_FILES = 5_000
MAX_HASHED_BYTES = 16 * 2**20
"""Bytes of a file that is known by its content; a larger one is known by its path only."""
MIN_HASHED_BYTES = 4
"""Bytes of a file that is known by its content: an empty list or object is in many files."""
TELLING_WORDS, TELLING_CHARS = 5, 40
"""A file's name of so many words or characters can tell something to whoever reads it in a list."""
_WORD = re.compile(r"[^\W_]+")
_OF_GIT = frozenset({"index", "FETCH_HEAD", "ORIG_HEAD", "HEAD"})
"""Files in ``.git`` that hold no content, and that reading commands write."""


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A file that a session wrote which had read from outside."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True)
class Marks:
    """What is known of files from outside.

    Attributes:
        windows: when sessions that had read from outside were at work (Unix seconds), by start.
        paths: the real paths that they wrote.
        contents: the SHA-256 digests of what they wrote.
        sizes: the sizes in bytes of these contents.
        media: the folder of received files.
        cleared: paths whose mark a person lifted, each with its state then.
    """

    media: str
    windows: Sequence[tuple[float, float, tuple[Origin, ...]]] = ()
    paths: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    contents: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    sizes: frozenset[int] = frozenset()
    cleared: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [one[0] for one in self.windows])
        object.__setattr__(self, "_latest", list(accumulate((o[1] for o in self.windows), max)))
        object.__setattr__(self, "cleared_paths", frozenset(path for path, _ in self.cleared))
        telling: dict[str, tuple[Origin, ...]] = {}
        lengths: dict[str, set[int]] = {}
        for path, origins in self.paths.items():
            if is_telling(name := os.path.basename(path)):  # noqa: PTH119
                words = _words(name)
                key = " ".join(words)
                telling[key] = merge_origins(telling.get(key, ()), origins)
                lengths.setdefault(words[0], set()).add(len(words))
        object.__setattr__(self, "_telling", telling)
        object.__setattr__(self, "_lengths", lengths)

    _starts: Sequence[float] = field(init=False, repr=False)
    _latest: Sequence[float] = field(init=False, repr=False)
    _telling: Mapping[str, tuple[Origin, ...]] = field(init=False, repr=False)
    _lengths: Mapping[str, Collection[int]] = field(init=False, repr=False)
    """How many words the telling names have, by their first word."""
    cleared_paths: frozenset[str] = field(init=False, repr=False)

    def written_at(self, changed: float) -> tuple[Origin, ...]:
        """The origins of a file whose status changed at a time."""
        found: tuple[Origin, ...] = ()
        at = bisect_right(self._starts, changed) - 1
        while at >= 0 and self._latest[at] >= changed:
            _, ended, origins = self.windows[at]
            if ended >= changed:
                found = merge_origins(found, origins)
            at -= 1
        return found

    def is_empty(self) -> bool:
        """True if no session that had read from outside has written anything."""
        return not (self.windows or self.paths)

    def names_in(self, text: str) -> tuple[Origin, ...]:
        """The origins of the telling names in a text, however their words are separated there."""
        if not self._telling:
            return ()
        words = _words(text)
        runs = (
            " ".join(words[at : at + length])
            for at, word in enumerate(words)
            for length in self._lengths.get(word, ())
        )
        found = (self._telling.get(run, ()) for run in dict.fromkeys(runs))
        return merge_origins(*filter(None, found))

    def below(self, folder: str) -> tuple[Origin, ...]:
        """The origins of every path below a folder, existing or not."""
        return merge_origins(*(self.paths[path] for path in self._inside(folder)))

    def existing_below(self, folder: str, left_out: Collection[str]) -> tuple[Origin, ...]:
        """The origins of the paths below a folder that exist and are not left out."""
        return merge_origins(
            *(
                self.paths[path]
                for path in self._inside(folder)
                if _ending(path) not in left_out and os.path.lexists(path)
            )
        )

    def _inside(self, folder: str) -> Iterator[str]:
        inside = folder.rstrip("/") + "/"
        return (path for path in self.paths if path.startswith(inside))


class FileCheck:
    """Looks at files; remembers the digests of those that have not changed."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[int, str]] = {}

    def origins(
        self, paths: Iterable[Path], marks: Marks, left_out: Collection[str] = ()
    ) -> tuple[Origin, ...]:
        """The origins of files from outside; a folder stands for all in it that is not left out.

        ``left_out`` are endings of names, in lower case.
        """
        found: dict[Origin, None] = {}
        until = time.monotonic() + LOOK_SECONDS
        folders: list[str] = []
        for real in dict.fromkeys(map(os.path.realpath, paths)):
            if os.path.isdir(real):  # noqa: PTH112
                folders.append(real)
            else:
                found.update(dict.fromkeys(self._of_file(real, marks)))
        for folder in _outermost(folders):
            known = marks.existing_below(folder, left_out)
            if not known:  # else it is enough, without a look at the rest
                known = self._in_folder(folder, marks, left_out, until)
            found.update(dict.fromkeys(known))
        return tuple(found)

    def _in_folder(
        self, folder: str, marks: Marks, left_out: Collection[str], until: float
    ) -> tuple[Origin, ...]:
        """The origins of the files in a folder, looked at until a time of ``time.monotonic``."""
        found: dict[Origin, None] = {}
        unmarked = marks.is_empty()
        for count, file in enumerate(files_in(folder, left_out)):
            if time.monotonic() >= until or (unmarked and count >= MAX_UNMARKED_FILES):
                return tuple(found) if unmarked else (*found, _unchecked(folder))
            found.update(dict.fromkeys(self._of_file(file, marks)))
        return tuple(found)

    def _of_file(self, file: str, marks: Marks) -> tuple[Origin, ...]:
        try:  # a link in /proc may be nobody's to read, and what it leads to neither
            real, status = file, os.lstat(file)
            if stat.S_ISLNK(status.st_mode):
                real = os.path.realpath(file)
                status = os.stat(real)  # noqa: PTH116
        except OSError:
            return marks.paths.get(file, ())
        if real.startswith(marks.media):
            return (Origin("outside", f"attachment {os.path.basename(real)}"),)  # noqa: PTH119
        found: list[Origin] = []
        if _has_attributes(real):
            found = [one for one in local_file_origins(Path(real)) if one.kind == "outside"]
        if real in marks.cleared_paths and (real, self._state(real, status)) in marks.cleared:
            return ()
        found += marks.written_at(status.st_ctime)
        found += marks.paths.get(real, ())
        if status.st_size in marks.sizes:
            found += marks.contents.get(self._digest(real, status), ())
        return tuple(found)

    def changed_since(self, folders: Iterable[Path], began: float) -> list[MarkedFile]:
        """The files below folders whose status changed at or after a Unix time, and the names of
        folders and links that say something."""
        found: list[MarkedFile] = []
        for folder in folders:
            listed = files_in(os.path.realpath(folder), telling_folders=True)
            for file in islice(listed, MAX_CHANGED_FILES):
                try:
                    status = os.lstat(file)
                    link = os.readlink(file) if stat.S_ISLNK(status.st_mode) else ""  # noqa: PTH115
                except OSError:
                    continue
                if status.st_ctime < began:
                    continue
                if link:
                    said = os.path.join(os.path.dirname(file), link.replace("/", " "))  # noqa: PTH118, PTH120
                    named = [one for one in (file, said) if is_telling(os.path.basename(one))]  # noqa: PTH119
                    found += [MarkedFile(one, "", 0) for one in named]
                elif stat.S_ISDIR(status.st_mode):
                    found.append(MarkedFile(file, "", 0))
                else:
                    digest = self._digest(file, status)
                    found.append(MarkedFile(file, digest, status.st_size))
                    if len(found) >= MAX_HASHED_FILES:
                        return found
        return found

    def state(self, file: str) -> str:
        """What a file is like now, for lifting its mark. Raises ``OSError``."""
        return self._state(file, os.stat(file))  # noqa: PTH116

    def _state(self, file: str, status: os.stat_result) -> str:
        return self._digest(file, status) or f"changed {status.st_ctime_ns}"

    def _digest(self, file: str, status: os.stat_result) -> str:
        """The digest of a file; empty if its content is too short or too long to know it by."""
        if not MIN_HASHED_BYTES <= status.st_size <= MAX_HASHED_BYTES:
            return ""
        known = self._digests.get(file)
        if known is not None and known[0] == status.st_ctime_ns:
            return known[1]
        try:
            with open(file, "rb") as opened:  # noqa: PTH123
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError:
            return ""
        if len(self._digests) >= MAX_CHANGED_FILES:
            self._digests.clear()
        self._digests[file] = (status.st_ctime_ns, digest)
        return digest


def is_telling(name: str) -> bool:
    """True if a file's name can tell something to whoever reads it in a list of files."""
    words = _words(os.path.splitext(name)[0])  # noqa: PTH122
    return len(words) >= TELLING_WORDS or len(" ".join(words)) >= TELLING_CHARS


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def files_in(
    path: str, left_out: Collection[str] = (), *, telling_folders: bool = False
) -> Iterator[str]:
    """A file itself, or the files of a folder, at any depth, those at the top first.

    Links to folders elsewhere are followed, each folder once. With ``telling_folders``, the
    folders in it whose name says something are included.
    """
    if not os.path.isdir(path):  # noqa: PTH112
        yield path
        return
    root, folders, followed = f"{os.path.realpath(path)}/", deque([path]), set[str]()
    while folders:
        folder = folders.popleft()
        skipped = _OF_GIT if os.path.basename(folder) == ".git" else ()  # noqa: PTH119
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    if telling_folders and is_telling(entry.name):
                        yield entry.path
                elif entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112
                    real = os.path.realpath(entry.path)
                    if real not in followed and not f"{real}/".startswith(root):
                        followed.add(real)
                        folders.append(real)
                elif entry.name not in skipped and _ending(entry.name) not in left_out:
                    yield entry.path


def _outermost(folders: Sequence[str]) -> list[str]:
    """Those folders that are not inside another of them."""
    return [
        one
        for one in folders
        if not any(f"{one}/".startswith(f"{other}/") for other in folders if other != one)
    ]


def _has_attributes(file: str) -> bool:
    """True if a file may have extended attributes: faster than asking for one of them."""
    try:
        return bool(os.listxattr(file))
    except (AttributeError, OSError):  # macOS has no listxattr, and some file systems none
        return False


def _unchecked(folder: str) -> Origin:
    """The origin of files that there was no time to look at."""
    return Origin("outside", f"unchecked files in {folder}")


def _ending(name: str) -> str:
    """The ending of a file's name, in lower case, with its dot."""
    return os.path.splitext(name)[1].lower()  # noqa: PTH122
