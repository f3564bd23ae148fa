"""A git repository of the person, read from its files without running git.

The settings of a repository can make git run programs, so it is only opened to restore it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import CheckpointError

MAX_REFS = 20_000
MAX_FILE_BYTES = 20_000_000
MAX_REPOSITORIES = 20
"""Repositories in one folder whose history is kept."""
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)
_PER_WORKTREE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
BEFORE_REWIND = "refs/before-rewind/"
"""Where a rewind keeps the refs that it replaces."""
STASH = "refs/stash"


class NoRepository(CheckpointError):
    """There is no repository; the text says what is missing."""


class UnsupportedRepository(CheckpointError):
    """The history of this repository cannot be kept; the text says why."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: ``place`` is the ``.git`` of its work tree, ``git_dir`` has HEAD and index,
    ``common_dir`` the refs and objects. They differ in submodules and linked worktrees."""

    place: Path
    git_dir: Path
    common_dir: Path

    @property
    def objects(self) -> Path:
        """The folder of its objects."""
        return self.common_dir / "objects"


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The names in a repository: ``head`` is a ref or an id, ``refs`` are ids by name, ``stash``
    pairs of id and message, the newest first. ``config`` is its config file, ``git_file`` the text
    of ``.git`` if that is a file."""

    git_dir: str
    common_dir: str
    head: str
    refs: Mapping[str, str]
    stash: tuple[tuple[str, str], ...]
    config: str
    git_file: str

    @property
    def head_id(self) -> str:
        """The commit that is checked out, empty if there is none."""
        return self.head if is_id(self.head) else self.refs.get(self.head, "")

    @property
    def tips(self) -> set[str]:
        """The ids of everything that has a name."""
        found = {*self.refs.values(), *(oid for oid, _ in self.stash)}
        return found | ({self.head_id} - {""})


def is_id(text: str) -> bool:
    """Whether ``text`` is the id of an object."""
    return _OID.fullmatch(text) is not None


def is_inside(folder: Path, place: Path) -> bool:
    """Whether ``place`` lies in ``folder``, also if folders in between are links."""
    return place.parent.resolve().is_relative_to(folder)


def head_of(git_dir: Path) -> str:
    """Return the ref or id that HEAD names, empty if it is invalid.

    Raises ``NoRepository`` if it is missing.
    """
    head = read_file(git_dir / "HEAD").strip().removeprefix("ref:").strip()
    return head if is_id(head) or head.startswith("refs/") else ""


def find(folder: Path, place: Path) -> Repository:
    """Return the repository of the ``.git`` at ``place`` in ``folder``.

    If it lies outside of ``folder``, as that of a linked worktree or submodule may, it has to name
    this place: a program in the folder could write any path into ``.git``.

    Raises ``NoRepository`` and ``UnsupportedRepository``.
    """
    git_dir = place
    if place.is_symlink() or not is_inside(folder, place):
        raise UnsupportedRepository(f"{place} is a link")
    if not place.is_dir():
        sign, _, named = read_file(place).strip().partition(" ")
        if sign != "gitdir:" or not named:
            raise NoRepository(f"{place} is not a repository")
        git_dir = (place.parent / named).resolve()
        if not git_dir.is_relative_to(folder) and not _names_back(git_dir, place):
            raise UnsupportedRepository(f"{place} names {git_dir}, which is of another work tree")
    common = git_dir
    if (git_dir / "commondir").is_file():
        common = (git_dir / read_file(git_dir / "commondir").strip()).resolve()
        if not common.is_relative_to(folder) and not git_dir.is_relative_to(common / "worktrees"):
            raise UnsupportedRepository(f"{place} names {common}, which is of another work tree")
    return Repository(place, git_dir, common)


def read(repository: Repository) -> RepositoryState:
    """Return the names in a repository.

    Raises ``NoRepository``, ``UnsupportedRepository`` and ``OSError``.
    """
    git_dir, common = repository.git_dir, repository.common_dir
    if not repository.objects.is_dir() or not (common / "refs").is_dir():
        raise NoRepository(f"{common} has no objects or refs")
    if (common / "reftable").is_dir():
        raise UnsupportedRepository(f"{common} stores its refs in the format reftable")
    head = head_of(git_dir)
    if not head:
        raise NoRepository(f"{git_dir} has no valid HEAD")
    refs = dict(_packed(common)) | dict(_loose(common))
    git_file = "" if repository.place.is_dir() else read_file(repository.place)
    config = _read_if_there(common / "config")
    stash = tuple(_stash(common)) if STASH in refs else ()
    return RepositoryState(str(git_dir), str(common), head, refs, stash, config, git_file)


def read_file(path: Path) -> str:
    """Return the text of a regular file of a repository, never through a link.

    Raises ``NoRepository`` if it is missing, too large or not a file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE_BYTES:
                raise NoRepository(f"{path} cannot be read")
            return stream.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise NoRepository(f"{path}: {error.strerror or error}") from None


def _read_if_there(path: Path) -> str:
    with suppress(NoRepository):
        return read_file(path)
    return ""


def _names_back(git_dir: Path, place: Path) -> bool:
    """Whether the repository says that ``place`` belongs to it."""
    linked = _read_if_there(git_dir / "gitdir").strip()
    if linked:
        return (git_dir / linked).resolve() == place.resolve()
    found = _WORKTREE.search(_read_if_there(git_dir / "config"))
    return found is not None and (git_dir / found[1]).resolve() == place.parent.resolve()


def _packed(common: Path) -> Iterator[tuple[str, str]]:
    for line in _read_if_there(common / "packed-refs").splitlines():
        oid, _, name = line.partition(" ")
        if is_id(oid) and _is_kept(name):
            yield name, oid


def _loose(common: Path) -> Iterator[tuple[str, str]]:
    """Return the refs that have a file; one that names another ref is left out."""
    count = 0
    for root, _, names in os.walk(common / "refs"):
        for file in names:
            path = Path(root, file)
            name = path.relative_to(common).as_posix()
            if not _is_kept(name):
                continue
            count += 1
            if count > MAX_REFS:
                raise UnsupportedRepository(f"{common} has more than {MAX_REFS:,} refs")
            oid = _read_if_there(path).strip()
            if is_id(oid):
                yield name, oid


def _is_kept(name: str) -> bool:
    is_plain = name.startswith("refs/") and name.isprintable() and " " not in name
    return is_plain and not name.startswith((*_PER_WORKTREE, BEFORE_REWIND))


def _stash(common: Path) -> Iterator[tuple[str, str]]:
    """Return the entries of the stash, which are the lines of its log, the newest first."""
    for line in reversed(_read_if_there(common / "logs" / STASH).splitlines()):
        ids, _, message = line.partition("\t")
        words = ids.split(" ")
        if len(words) > 1 and is_id(words[1]):
            yield words[1], message
