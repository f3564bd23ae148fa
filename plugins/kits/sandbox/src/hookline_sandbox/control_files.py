"""Puts aside or back what a program changed in files that other programs follow later.

Existing control files are read-only inside the sandbox. Two things are left: new ones, and the
files of a repository that git itself has to write. Both are looked at after each program. New ones
are put aside, so that a person can be asked about them.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import git_config
from .kept_trees import Tree, make_parents, open_folder, read_tree, write_tree
from .repositories import link_target
from .survey import Findings

REMOVED_FOLDER = "removed-control-files"
"""Folder in Hookline's home with the newest control files that programs made and lost again."""
MAX_REMOVED_KEPT = 50
"""Maximum removals whose files are kept in Hookline's home, so that a person can get them back."""
_MAX_FILE_BYTES = 1_048_576
_MAX_ENTRIES = 100
_LINKED = re.compile(r".*/[^/]*\.git/(?:worktrees/[^/]+|modules/.+)")
"""The folder of a linked worktree, or of a submodule (gitrepository-layout(5))."""
_SAMPLE = ".sample"
"""Ending of the hooks that git's templates contain (githooks(5)); git does not run them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was found before a program.

    contents: of files to be compared. links: the targets of links. trees: whole files and folders,
    which a program may change meanwhile. allowed: paths that a person has allowed since.
    """

    findings: Findings
    contents: dict[str, bytes]
    links: dict[str, str]
    trees: dict[str, Tree] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class PutAside:
    """A control file, folder or link that a program made or changed, and that was taken away.

    shown: the path relative to the workspace. before: what was there, and is there again; None for
    nothing. after: what the program made of it.
    """

    path: str
    root: str
    shown: str
    before: Tree | None
    after: Tree


@dataclass(frozen=True, slots=True)
class Changes:
    """What was undone: ``aside`` can be put in place again, ``undone`` cannot.

    ``undone`` are paths relative to the workspace, of git's settings with the keys.
    """

    undone: list[str] = field(default_factory=list)
    aside: list[PutAside] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything was undone."""
        return bool(self.undone or self.aside)

    def names(self) -> list[str]:
        """Return the paths of everything, relative to the workspace."""
        return sorted({*self.undone, *(each.shown for each in self.aside)})


def keep(findings: Findings, whole: Iterable[str] = ()) -> Kept:
    """Keep what is compared later, and ``whole`` files and folders that are small enough."""
    contents: dict[str, bytes] = {}
    links: dict[str, str] = {}
    for path in findings.compared:
        with suppress(OSError):
            contents[path] = _read(path)
    for path in findings.links:
        with suppress(OSError):
            links[path] = os.readlink(path)  # noqa: PTH115
    found = ((path, read_tree(path)) for path in whole)
    return Kept(findings, contents, links, {path: tree for path, tree in found if tree})


def put_back(kept: Kept, now: Findings, roots: list[str], removed: Path) -> Changes:
    """Undo changes of control files since ``kept``, and return them.

    roots: the searched folders. removed: where removed files are kept.
    """
    work = _PutBack(kept, now, roots, removed)
    for path in now.compared:
        work.compare(path)
    for path in kept.contents.keys() - set(now.compared):
        if os.path.basename(path) == "config" and os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH119, PTH120
            work.write(path, kept.contents[path], "")
    known = {*kept.findings.protected, *kept.findings.frozen, *kept.links, *kept.allowed}
    for path in {*now.protected, *now.links} - known:
        work.remove_new(path)
    for path, target in kept.links.items():
        work.restore_link(path, target)
    for path, tree in kept.trees.items():
        work.restore_tree(path, tree)
    return Changes(sorted(work.undone), sorted(work.aside, key=lambda each: each.shown))


def put_in_place(aside: PutAside, kept: Kept | None) -> bool:
    """Write what was put aside where it was, and return whether that worked.

    It does not if the place has changed meanwhile. kept: what later comparisons start from.
    """
    if (os.path.lexists(aside.path) or aside.before) and read_tree(aside.path) != aside.before:
        return False
    *parents, name = os.path.relpath(aside.path, aside.root).split("/")
    try:
        if not make_parents(aside.root, parents, _refuse):
            return False
        with _opened(aside.root, parents) as folder:
            new = f".hookline-{uuid.uuid4().hex}"
            if not _is_written(aside.after, folder, new):
                return False
            if aside.before:
                old = f".hookline-{uuid.uuid4().hex}"
                os.rename(name, old, src_dir_fd=folder, dst_dir_fd=folder)
                _delete(folder, old)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        return False
    if kept is not None:
        kept.allowed.add(aside.path)
        if aside.path in kept.trees:
            kept.trees[aside.path] = aside.after
    return True


def _refuse(path: str) -> None:
    raise OSError(f"{path} is no folder")


@contextmanager
def _opened(root: str, parents: list[str]) -> Iterator[int]:
    """Open a folder below ``root`` without following a link that a program may have made.

    Raises ``OSError`` if there is one.
    """
    opened = open_folder(root, None)
    try:
        for part in parents:
            below = open_folder(part, opened)
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


def _delete(folder: int, name: str) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


class _PutBack:
    """One comparison. ``undone`` names what was put back, relative to the workspace, and ``aside``
    is what was taken away."""

    def __init__(self, kept: Kept, now: Findings, roots: list[str], removed: Path) -> None:
        self._kept, self._roots, self._removed = kept, roots, removed
        self._taken = time.strftime("%Y%m%d-%H%M%S")
        self.undone: set[str] = set()
        self.aside: list[PutAside] = []

    def compare(self, path: str) -> None:
        """Compare a repository's ``config`` or ``.git`` file with what it was."""
        before = self._kept.contents.get(path)
        with suppress(OSError):
            after = _read(path)
            if after == before:
                return
            name = os.path.basename(path)  # noqa: PTH119
            if name == ".git":
                self._compare_link(path, before)
                return
            if name == "commondir":
                self._compare_common_folder(path, before, after)
                return
            text, keys = git_config.merged(before, after)
            if keys:
                self.write(path, text, " " + ", ".join(keys))

    def _compare_link(self, path: str, before: bytes | None) -> None:
        """Keep a new ``.git`` file of a worktree or submodule of a repository here; no other."""
        if before is not None:
            self.write(path, before, "")
            return
        target = str(link_target(path) or "")
        is_here = any(target.startswith(f"{root}/") for root in self._roots)
        if not is_here or not _LINKED.fullmatch(target):
            self._remove(path)

    def _compare_common_folder(self, path: str, before: bytes | None, after: bytes) -> None:
        """Keep ``commondir`` of a linked worktree only if it names the repository around it."""
        folder = os.path.dirname(path)  # noqa: PTH120
        named = os.path.realpath(os.path.join(folder, os.fsdecode(after.strip())))  # noqa: PTH118
        if named != os.path.realpath(f"{folder}/../.."):
            self.write(path, before or b"../..\n", "")

    def remove_new(self, path: str) -> None:
        """Put a new control file aside."""
        is_link = os.path.islink(path)  # noqa: PTH114
        if os.path.basename(path) == "hooks" and ".git/" in path and not is_link:  # noqa: PTH119
            self._remove_hooks(path)
        else:
            self._remove(path)

    def _remove_hooks(self, folder: str) -> None:
        with suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208
                path = f"{folder}/{name}"
                if not name.endswith(_SAMPLE) and path not in self._kept.allowed:
                    self._remove(path)

    def restore_link(self, path: str, target: str) -> None:
        """Make the symbolic link anew if it is missing or leads elsewhere."""
        if os.path.islink(path) and os.readlink(path) == target:  # noqa: PTH114, PTH115
            return
        if os.path.lexists(path):
            self._remove(path)
        with suppress(OSError), self._folder(path) as (folder, name):
            os.symlink(target, name, dir_fd=folder)
            self.undone.add(self._shown(path))

    def restore_tree(self, path: str, tree: Tree) -> None:
        """Write a kept file or folder anew if it has changed.

        A repository that was removed or renamed as a whole stays away.
        """
        if read_tree(path) == tree:
            return
        root = self._root(path)
        *parents, name = os.path.relpath(path, root).split("/")
        with suppress(OSError):
            if not make_parents(root, parents, self._remove):
                return
            with self._folder(path) as (folder, _):
                new = f".hookline-{uuid.uuid4().hex}"
                is_written = _is_written(tree, folder, new)
                if os.path.lexists(path):  # also if it cannot be replaced
                    self._remove(path, tree if is_written else None)
                else:
                    self.undone.add(self._shown(path))
                if is_written:
                    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _remove(self, path: str, before: Tree | None = None) -> None:
        """Take the file or folder away, with a copy of what is small. ``before`` was there."""
        with suppress(OSError), self._folder(path) as (folder, name):
            aside = f".hookline-{uuid.uuid4().hex}"
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            shown = self._shown(path)
            after = read_tree(f"/proc/self/fd/{folder}/{aside}")
            _copy(folder, aside, self._removed / self._taken / shown)
            _delete(folder, aside)
            if after is None or os.path.basename(path) == ".git":  # noqa: PTH119
                self.undone.add(shown)
            else:
                self.aside.append(PutAside(path, self._root(path), shown, before, after))
            _forget_old(self._removed)

    def write(self, path: str, data: bytes, keys: str) -> None:
        """Write the file anew; ``keys`` is added to its name in ``undone``."""
        with suppress(OSError), self._folder(path) as (folder, name):
            new = f".hookline-{uuid.uuid4().hex}"
            mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(new, mode, 0o644, dir_fd=folder), "wb") as file:  # noqa: PTH123
                file.write(data)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            self.undone.add(self._shown(path) + keys)

    @contextmanager
    def _folder(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the folder of ``path`` without following a link that a program may have made.

        Raises ``OSError`` if there is one.
        """
        root = self._root(path)
        *parents, name = os.path.relpath(path, root).split("/")
        with _opened(root, parents) as opened:
            yield opened, name

    def _root(self, path: str) -> str:
        return next(r for r in self._roots if path.startswith(r.rstrip("/") + "/"))

    def _shown(self, path: str) -> str:
        return os.path.relpath(path, self._roots[0]).replace("../", "")


def _is_written(tree: Tree, folder: int, name: str) -> bool:
    """Write a tree; return whether that worked, and leave nothing behind if not."""
    try:
        write_tree(tree, folder, name)
    except OSError:
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        return False
    return True


def _read(path: str) -> bytes:
    """Return a regular file's content. Raises ``OSError`` for others and large ones."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_FILE_BYTES:
            raise OSError(f"{path} is not a small file")
        return file.read()


def _copy(folder: int, name: str, target: Path) -> None:
    """Copy small regular files, so that nothing of a person's is lost."""
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        source = f"/proc/self/fd/{folder}/{name}"
        if not os.path.isdir(source):  # noqa: PTH112
            target.write_bytes(_read(source))
            return
        for number, (top, _, names) in enumerate(os.walk(source)):
            for each in names[:_MAX_ENTRIES] if number < _MAX_ENTRIES else ():
                copy = target / os.path.relpath(top, source) / each
                copy.parent.mkdir(parents=True, exist_ok=True)
                with suppress(OSError):
                    copy.write_bytes(_read(os.path.join(top, each)))  # noqa: PTH118


def _forget_old(removed: Path) -> None:
    for old in sorted(removed.iterdir())[:-MAX_REMOVED_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
