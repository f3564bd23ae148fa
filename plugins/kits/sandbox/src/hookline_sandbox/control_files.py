"""Puts back what a program changed in files that other programs follow later.

Existing control files are read-only inside the sandbox. Two things are left: new ones, and the
files of a repository that git itself has to write. Both are looked at after each program.
"""

from __future__ import annotations

import os
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

MAX_REMOVED_KEPT = 50
"""Maximum removals whose files are kept in Hookline's home, so that a person can get them back."""
_MAX_FILE_BYTES = 1_048_576
_MAX_ENTRIES = 100
_SAMPLE = ".sample"
"""Ending of the hooks that git's templates contain (githooks(5)); git does not run them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was found before a program.

    contents: of files to be compared. links: the targets of links. trees: whole files and folders,
    which a program may change meanwhile.
    """

    findings: Findings
    contents: dict[str, bytes]
    links: dict[str, str]
    trees: dict[str, Tree] = field(default_factory=dict)


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


def put_back(kept: Kept, now: Findings, roots: list[str], removed: Path) -> list[str]:
    """Undo changes of control files since ``kept``; return what was put back, for a person.

    roots: the searched folders. removed: where removed files are kept.
    """
    work = _PutBack(kept, now, roots, removed)
    for path in now.compared:
        work.compare(path)
    for path in kept.contents.keys() - set(now.compared):
        if os.path.basename(path) == "config" and os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH119, PTH120
            work.write(path, kept.contents[path], "")
    for path in {*now.frozen, *now.links} - {*kept.findings.frozen, *kept.links}:
        work.remove_new(path)
    for path, target in kept.links.items():
        work.restore_link(path, target)
    for path, tree in kept.trees.items():
        work.restore_tree(path, tree)
    return sorted(work.undone)


class _PutBack:
    """One comparison. ``undone`` names what was put back, relative to the workspace."""

    def __init__(self, kept: Kept, now: Findings, roots: list[str], removed: Path) -> None:
        self._kept, self._roots, self._removed = kept, roots, removed
        self._repositories = {_repository(path) for path in now.compared} - {
            _repository(path) for path in kept.contents
        }
        self.undone: set[str] = set()

    def compare(self, path: str) -> None:
        """Compare a repository's ``config`` or ``.git`` file with what it was."""
        before = self._kept.contents.get(path)
        with suppress(OSError):
            after = _read(path)
            if after == before:
                return
            if os.path.basename(path) == ".git":  # noqa: PTH119
                self._compare_link(path, before)
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
        is_linked = "/worktrees/" in target or "/modules/" in target
        if not is_linked or not any(target.startswith(f"{root}/") for root in self._roots):
            self._remove(path)

    def remove_new(self, path: str) -> None:
        """Remove a new control file, but not what a new repository brings along."""
        repository = next(
            (r for r in self._repositories if path.startswith(r + "/") and r not in self._roots),
            None,
        )
        is_link = os.path.islink(path)  # noqa: PTH114
        if os.path.basename(path) == "hooks" and ".git/" in path and not is_link:  # noqa: PTH119
            self._remove_hooks(path)
        elif repository is None or ".git/" in path.removeprefix(repository):
            self._remove(path)

    def _remove_hooks(self, folder: str) -> None:
        with suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208
                if not name.endswith(_SAMPLE):
                    self._remove(f"{folder}/{name}")

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
                    self._remove(path)
                if is_written:
                    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
                self.undone.add(self._shown(path))

    def _remove(self, path: str) -> None:
        """Move the file or folder aside, copy what is small, and delete it."""
        with suppress(OSError), self._folder(path) as (folder, name):
            aside = f".hookline-{uuid.uuid4().hex}"
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            shown = self._shown(path)
            _copy(folder, aside, self._removed / time.strftime("%Y%m%d-%H%M%S") / shown)
            if stat.S_ISDIR(os.stat(aside, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(aside, ignore_errors=True, dir_fd=folder)
            else:
                os.unlink(aside, dir_fd=folder)
            self.undone.add(shown)
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
        opened = open_folder(root, None)
        try:
            for part in parents:
                below = open_folder(part, opened)
                os.close(opened)
                opened = below
            yield opened, name
        finally:
            os.close(opened)

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


def _repository(path: str) -> str:
    """Return the folder of the repository that a compared file belongs to."""
    folder = os.path.dirname(path)  # noqa: PTH120
    is_config = os.path.basename(path) == "config"  # noqa: PTH119
    return folder.removesuffix("/.git") if is_config else folder


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
