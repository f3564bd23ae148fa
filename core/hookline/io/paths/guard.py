"""The guard of one workspace: checks and resolves paths, and opens files."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import FileRisk
from hookline_hookspecs.own_code import WHAT_TO_DO, own_code, own_code_around
from hookline_hookspecs.sentences import N_

from . import known_places
from .file_access import (
    CREATE,
    READ,
    PathRefused,
    entries_of,
    full_path_in_errors,
    require_regular,
    status_of,
    writable_mode,
)
from .folder_handles import Enter, enter, enter_or_make, folder_of
from .name_forms import components
from .own_files import OwnFiles
from .place_table import KnownPlace
from .rules import rules
from .shape import is_in, malformed, real_path, shown
from .similar_names import existing_path

_readable: ContextVar[tuple[str, ...]] = ContextVar("hookline.paths.readable", default=())
"""What `PathGuard.allow_reading` allows the running task."""
WALK_LIMIT = 100_000
"""Maximum number of directory entries that `PathGuard.walk` examines."""


class PathGuard:
    """Checks paths and opens files for one workspace.

    workspace: where relative paths start; always allowed.
    allowed_roots: further folders (or single files), from ``paths.allowed_roots``.
    home: Hookline's own folder; refused, except for a workspace in it.
    edits_own_code: the code that Hookline runs may be written, from ``paths.edit_own_code``.
    """

    def __init__(
        self,
        workspace: Path,
        allowed_roots: Sequence[Path],
        home: Path,
        *,
        edits_own_code: bool = False,
    ) -> None:
        self._edits_own_code = edits_own_code
        self.workspace = Path(os.path.realpath(workspace.expanduser()))
        others = (Path(os.path.realpath(root.expanduser())) for root in allowed_roots)
        self.roots = tuple(dict.fromkeys((self.workspace, *others)))
        self._roots = tuple(str(root) for root in self.roots)
        self._own = OwnFiles(home, self._roots)
        self._credentials = known_places.credentials()

    @cached_property
    def _person(self) -> str:
        return os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111

    def resolve(self, path: str | Path, *, base: Path | None = None) -> Path:
        """The real, absolute path of `path`, with all links followed.

        `path` is relative to `base`, or else to the workspace; ``~`` is the person's home. It need
        not exist. Raises PathRefused.
        """
        reason, real = self._decide(path, base)
        if reason:
            raise PathRefused(reason)
        return Path(real)

    def check_path(self, path: str | Path, *, base: Path | None = None) -> str | None:
        """The sentence with which `resolve` would refuse `path`, or None if it is allowed."""
        return self._decide(path, base)[0]

    def caution(self, path: str | Path) -> str | None:
        """Why a write to `path` needs a person's approval, or None.

        The reason is a sentence: the file runs by itself, or instructs agents. Paths that
        `check_path` refuses do not always have such a reason.
        """
        text = os.fspath(path)
        if malformed(text):
            return None
        asked = self._absolute(text, None)
        for place in dict.fromkeys((asked, real_path(asked) or asked)):
            if known := known_places.caution(place) or self._of_person(place):
                is_name = known.name.lower() == Path(text).name.lower()
                if is_name:
                    return N_(f"{shown(text)} is a control file: it {known.what}.")
                return N_(f"{shown(text)} is a control file: '{known.name}' {known.what}.")
        return None

    def protection(self, path: str, workspace: Path | None = None) -> str | None:
        """Why a program may make or change an absolute `path` only with approval, or None.

        The reason completes a sentence that begins with the path. Only names count; no link is
        followed. workspace: instead of this guard's.
        """
        root = str(workspace or self.workspace)
        if known_places.protected(root) and is_in(path, root):  # its own place is chosen
            known = known_places.protected(path[len(root) :])
        else:
            known = known_places.protected(path)
        known = known or self._of_person(path, workspace)
        return known.what if known else None

    def _of_person(self, path: str, workspace: Path | None = None) -> KnownPlace | None:
        """The entry of the person's home folder that contains a path but not the workspace."""
        person = self._person
        if not is_in(path, person) or path == person:
            return None
        entry = Path(person, path[len(person) :].lstrip(os.sep).split(os.sep, 1)[0])
        is_around = is_in(str(workspace or self.workspace), str(entry))
        return None if is_around else known_places.of_person(entry.name)

    def credential(self, path: str | Path) -> str | None:
        """What kind of secret a file with this name holds, or None. The path may be relative."""
        known = self._credentials.find(os.fspath(path))
        return None if known is None else known.what

    def runs_later(self, path: str | Path) -> bool:
        """True for a file that is run later, such as a Makefile or ``package.json``."""
        return known_places.later(os.fspath(path)) is not None

    def change_risk(self, path: str | Path, before: str, after: str) -> FileRisk | None:
        """The part of a change to a file's text that will run later; None if none does."""
        return known_places.change_risk(os.fspath(path), before, after)

    @contextmanager
    def folder(self, real: Path) -> Iterator[tuple[str, int | None]]:
        """The last component of a resolved path, and a handle on its folder, created if missing.

        No link below the root is followed. Raises PathRefused if it may only be read, and
        ``OSError``.
        """
        if reason := self.write_refusal(real):
            raise PathRefused(reason)
        start = Path(self._root_of(str(real)) or real.anchor)
        if os.open not in os.supports_dir_fd:
            real.parent.mkdir(parents=True, exist_ok=True)
        with folder_of(real, start, enter_or_make) as name_and_handle:
            yield name_and_handle

    def give(self, path: Path) -> None:
        """Allow reading a file, below ``media`` in home, that came with a message of this chat."""
        self._own.give(path)

    def write_refusal(self, path: Path) -> str | None:
        """The sentence why a resolved path may only be read, or None.

        `give` was called for it, `allow_reading` applies to it, or Hookline runs it.
        """
        real = str(path)
        if self._is_given(real):
            return f"The path {shown(real)} may only be read; write a copy elsewhere."
        if not self._edits_own_code and (own := own_code_around(real)):
            return (
                f"The path {shown(real)} is not changed by tools, because Hookline runs its code "
                f"from {shown(own)}: {WHAT_TO_DO}."
            )
        return None

    def read_only_places(self) -> tuple[str, ...]:
        """The folders and files with the code that Hookline runs, which tools may not write."""
        return () if self._edits_own_code else own_code()

    def _is_given(self, real: str) -> bool:
        return self._own.is_given(real) or self._is_only_readable(real)

    @contextmanager
    def allow_reading(self, path: Path) -> Iterator[None]:
        """Allow this task, and threads that it starts, to read a file or all of a folder outside
        the workspace until the block ends. Secrets and Hookline's own files stay refused."""
        token = _readable.set((*_readable.get(), os.path.realpath(path)))
        try:
            yield
        finally:
            _readable.reset(token)

    def _is_only_readable(self, real: str) -> bool:
        readable = any(is_in(real, one) for one in _readable.get())
        return readable and self._root_of(real) is None

    @contextmanager
    def open_write(self, path: str | Path) -> Iterator[BinaryIO]:
        """A binary stream; its content replaces the file when the block ends without an error.

        Missing folders are created. The file is replaced atomically; an existing one keeps its mode
        bits. Raises PathRefused for a refused path, and if it is not a regular file.
        """
        real = self.resolve(path)
        if reason := self.write_refusal(real):
            raise PathRefused(reason)
        with self._folder_of(real, enter_or_make) as (name, folder):
            temporary = str(Path(name).with_name(f".hookline-{secrets.token_hex(8)}.tmp"))
            with full_path_in_errors(real):
                mode = writable_mode(name, folder, real)
                handle = os.open(temporary, CREATE, 0o666, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as stream:
                    yield stream
                    stream.flush()
                    os.fsync(stream.fileno())
                if mode is not None:
                    os.chmod(temporary, stat.S_IMODE(mode), dir_fd=folder)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise

    def open_read(self, path: str | Path) -> BinaryIO:
        """Open a regular file for reading, without following links that were added meanwhile.

        Raises PathRefused for a refused path, a folder, a device or a FIFO, and OSError for a file
        that is missing or may not be read.
        """
        real = self.resolve(path)
        with self._folder_of(real, enter) as (name, folder), full_path_in_errors(real):
            # Check the status first, because merely opening some devices has an effect.
            status = status_of(name, folder)
            if status is not None:
                require_regular(status.st_mode, real)
            handle = os.open(name, READ, dir_fd=folder)
        try:
            status = os.fstat(handle)
            require_regular(status.st_mode, real)
            self._require_foreign(status, str(real))
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise

    def walk(
        self, root: str | Path = ".", *, skip: Container[str] = (), limit: int = WALK_LIMIT
    ) -> Iterator[Path]:
        """The files below `root`, sorted within each folder, as paths below the resolved root.

        Skipped are refused files, folders named in `skip`, links that leave the roots, links to
        folders (so that no file appears twice), and entries that are neither files nor folders.
        Stops after `limit` directory entries. Raises PathRefused if `root` itself is refused.
        """
        start = self.resolve(root)
        if start.is_file():
            yield start
        pending = [str(start)]
        while pending:
            inner = []
            for entry in entries_of(pending.pop()):
                limit -= 1
                if limit < 0:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in skip and not self._refused(entry.path, entry.path):
                        inner.append(entry.path)
                elif self._is_open_file(entry):
                    yield Path(entry.path)
            pending.extend(reversed(inner))

    def _is_open_file(self, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            return self.check_path(entry.path) is None and Path(entry.path).is_file()
        return entry.is_file(follow_symlinks=False) and not self._refused(entry.path, entry.path)

    def _absolute(self, text: str, base: Path | None) -> str:
        if text.startswith("~"):
            text = os.path.expanduser(text)  # noqa: PTH111
        return existing_path(os.path.join(self.workspace, base or "", text))  # noqa: PTH118

    def _decide(self, path: str | Path, base: Path | None) -> tuple[str | None, str]:
        """The reason to refuse `path`, or None; and the real path."""
        text = os.fspath(path)
        if reason := malformed(text):
            return reason, ""
        asked = self._absolute(text, base)
        real = real_path(asked)
        if real is None:
            return f"The path {shown(text)} is a link that points to itself.", ""
        return self._refused(asked, real), real

    def _refused(self, asked: str, real: str) -> str | None:
        """Why the absolute path `asked`, whose real path is `real`, may not be used, or None."""
        parts = components(real)
        reason = self._by_name(real, parts, asked)
        if reason is None and asked != real:
            reason = self._by_name(asked, components(asked), asked)
        if reason := reason or self._own.reason(asked, real, parts):
            return reason
        if self._root_of(real) is None and not self._is_given(real):
            where = "" if asked == real else f" (it leads to {shown(real)})"
            return (
                f"The path {shown(asked)} is outside the workspace{where}. "
                "Stay in the workspace, or have its folder added to paths.allowed_roots."
            )
        return self._by_number(asked, real)

    def _by_name(self, path: str, parts: Sequence[str], asked: str) -> str | None:
        devices = rules().devices
        if known := self._credentials.find_among(parts) or (devices and devices.find_among(parts)):
            return (
                f"The path {shown(asked)} is off limits, as secrets and start-up files are: "
                f"{shown(known.name)} {known.what}. No setting allows it; ask the person to do "
                "this by hand."
            )
        # POSIX keeps a leading `//`.
        if rules().trees.match("/" + os.path.normpath(path).lstrip("/")):
            return f"The path {shown(asked)} belongs to the system, not to files one edits."
        return None

    def _by_number(self, asked: str, real: str) -> str | None:
        """Why a file with several names is refused (one of them is in home), or None."""
        try:
            status = os.lstat(real)
        except OSError:
            return None  # it does not exist yet or is not accessible
        return _SAME_FILE.format(shown(asked)) if self._own.same_file(status) else None

    def _require_foreign(self, status: os.stat_result, real: str) -> None:
        if self._own.same_file(status) and not self._own.is_given(real):
            raise PathRefused(_SAME_FILE.format(shown(real)))

    def _root_of(self, real: str) -> str | None:
        return next((root for root in self._roots if is_in(real, root)), None)

    @contextmanager
    def _folder_of(self, real: Path, enter: Enter) -> Iterator[tuple[str, int | None]]:
        """The last component of `real`, and a handle on its folder for use as ``dir_fd``."""
        start = Path(self._root_of(str(real)) or real.parent)
        with ExitStack() as stack:
            with full_path_in_errors(real):
                name_and_handle = stack.enter_context(folder_of(real, start, enter))
            yield name_and_handle


_SAME_FILE = (
    "The path {} is another name of a file that belongs to Hookline itself: "
    "use its commands (`hookline config`, `hookline memory`) instead."
)
