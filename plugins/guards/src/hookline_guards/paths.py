"""Guarded file access: which paths a model or a user may name, and how they are opened.

A plugin reaches it as ``host.paths``, a `PathGuard` bound to the chat's workspace. The names that
are refused are data: ``paths.yaml`` beside this module.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import yaml
from hookline_hookspecs import Refused

MAX_PATH = 4096
"""Characters in a path; Linux's PATH_MAX."""
MAX_NAME = 255
"""Bytes in one component; NAME_MAX of the common file systems."""
WALK_LIMIT = 100_000
"""Directory entries that one `PathGuard.walk` looks at."""

_MAX_ROUNDS = 40  # Linux follows as many links in one path.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = re.compile(r"[/\\]+")
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = _PATH_ONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW


class PathRefused(Refused, PermissionError):
    """A path that may not be used. Its text is a sentence that says why and what to do."""


def _globs(patterns: Sequence[str]) -> str:
    """One regular expression for globs whose ``*`` and ``?`` stay within a component."""
    bodies = (re.escape(p).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for p in patterns)
    return "(?:" + "|".join(bodies) + ")"


def _short_name(name: str) -> str:
    """How the 8.3 alias of `name` on FAT and NTFS begins: ``git-cr`` of ``.git-credentials``.

    Empty for a name that has none: a dot at the front or a ninth letter forces one.
    """
    stem = re.split(r"[.*]", name.removeprefix("."))[0][:6]
    return stem if name.startswith(".") or (len(name) > 8 and name.isidentifier()) else ""


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """``paths.yaml``, compiled; all but `ignorable` and `trees` apply to folded text."""
    data = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    names = data["names"] + (data["windows_devices"] if os.name == "nt" else [])
    short = filter(None, map(_short_name, names))
    texts = {
        "names": _globs(names),
        "exceptions": _globs(data["exceptions"]),
        "short": _globs(sorted(short)) + r"~[0-9]+(?:\.[^.]{0,3})?",
        "sequences": "/" + _globs(data["sequences"]) + "(?:/|$)",
        "own": _globs(data["own"]) + "/",
        **{key: data[key] for key in ("trees", "copy_endings", "ignorable")},
    }
    return {key: re.compile(text) for key, text in texts.items()}


def _fold(text: str) -> str:
    """The spelling under which the most forgiving file system would find the name.

    Unicode's NFKC_Casefold (UAX #31, section 5): HFS+, APFS and NTFS each apply a part of it.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _patterns()["ignorable"].sub("", folded)


@functools.lru_cache(maxsize=4096)
def _is_secret_name(part: str) -> bool:
    """Whether one folded component names a secret, in any spelling a platform would accept."""
    known = _patterns()
    # Win32 drops trailing dots and spaces; what follows a colon names a stream of the same file.
    forms = {form.rstrip(". ") for form in (part, part.partition(":")[0])} | {part}
    forms |= {known["copy_endings"].sub("", form) for form in forms}
    secret = any(known["names"].fullmatch(f) or known["short"].fullmatch(f) for f in forms)
    return secret and not known["exceptions"].fullmatch(part)


def _secret_part(path: str) -> str | None:
    """The component (or run of components) of `path` that is secret, or None."""
    parts = _SEPARATORS.split(_fold(path))
    for part in parts:
        if _is_secret_name(part):
            return part
    run = _patterns()["sequences"].search("/" + "/".join(parts))
    return run[0].strip("/") if run else None


def _slashed(path: str) -> str:
    """`path` folded, with forward slashes and one at its end."""
    return _fold(path).replace("\\", "/") + "/"


def _shown(path: str) -> str:
    return repr(path if len(path) <= 200 else path[:199] + "…")


def _malformed(path: str) -> str | None:
    """Why `path` cannot be the name of a file at all, or None."""
    if not path:
        return "The path is empty: name a file or a folder."
    if len(path) > MAX_PATH:
        return f"The path has {len(path)} characters; at most {MAX_PATH} are taken."
    if _CONTROL.search(path):
        return f"The path {_shown(path)} holds control characters: name it without them."
    try:
        if max(map(len, os.fsencode(path).split(b"/"))) > MAX_NAME:
            return f"A name in the path {_shown(path)} is longer than {MAX_NAME} bytes."
    except UnicodeEncodeError:
        return f"The path {_shown(path)} cannot be written in this system's encoding."
    return None


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


class PathGuard:
    """Decides over paths and opens files for one workspace.

    workspace: where relative paths start; always allowed.
    allowed_roots: further folders (or single files) from ``paths.allowed_roots``.
    home: Hookline's own folder; its config, database and notes are refused wherever it lies.
    """

    def __init__(self, workspace: Path, allowed_roots: Sequence[Path], home: Path) -> None:
        self.workspace = Path(os.path.realpath(workspace.expanduser()))
        roots = (self.workspace, *(r.expanduser() for r in allowed_roots))
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(r)) for r in roots))
        self._roots = tuple(str(root) for root in self.roots)
        self._own = _slashed(os.path.realpath(home.expanduser()).rstrip(os.sep))

    def resolve(self, path: str | Path, *, base: Path | None = None) -> Path:
        """The real, absolute path that `path` stands for, every link followed.

        `path` is relative to `base`, else to the workspace; ``~`` is the person's home. What does
        not exist yet keeps its name below the deepest folder that does. Raises PathRefused.
        """
        reason, real = self._decide(path, base)
        if reason:
            raise PathRefused(reason)
        return Path(real)

    def judge(self, path: str | Path, *, base: Path | None = None) -> str | None:
        """The sentence with which `resolve` would refuse `path`, or None if it would not."""
        return self._decide(path, base)[0]

    @contextmanager
    def open_write(self, path: str | Path) -> Iterator[BinaryIO]:
        """A binary stream whose content replaces the file when the block ends without an error.

        Missing folders are made. The file appears whole or not at all; an existing one keeps its
        mode bits. Raises PathRefused for a refused path, and for what is not a regular file.
        """
        real = self.resolve(path)
        with self._folder_of(real, _enter_or_make) as (name, folder):
            temporary = str(Path(name).with_name(f".hookline-{secrets.token_hex(8)}.tmp"))
            with _named(real):
                mode = _writable_mode(name, folder, real)
                handle = os.open(temporary, _CREATE, 0o666, dir_fd=folder)
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
        """A binary stream over a regular file, opened so that no link swapped in is followed.

        Raises PathRefused for a refused path, a folder, a device or a FIFO, and the usual OSError
        for a file that is missing or may not be read.
        """
        real = self.resolve(path)
        with self._folder_of(real, _enter) as (name, folder), _named(real):
            # Looked at first, because merely opening some devices has an effect.
            mode = _mode(name, folder)
            if mode is not None:
                _require_regular(mode, real)
            handle = os.open(name, _READ, dir_fd=folder)
        try:
            _require_regular(os.fstat(handle).st_mode, real)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise

    def walk(
        self, root: str | Path = ".", *, skip: Container[str] = (), limit: int = WALK_LIMIT
    ) -> Iterator[Path]:
        """The files below `root`, sorted within each folder, as paths below the resolved root.

        Left out: refused files, folders named in `skip`, links that leave the roots, folders that
        are links (so that nothing comes twice), and what is neither a file nor a folder. Ends
        after `limit` directory entries. Raises PathRefused if `root` itself is refused.
        """
        start = self.resolve(root)
        if start.is_file():
            yield start
        pending = [str(start)]
        while pending:
            inner = []
            for entry in _entries(pending.pop()):
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
            return self.judge(entry.path) is None and Path(entry.path).is_file()
        return entry.is_file(follow_symlinks=False) and not self._refused(entry.path, entry.path)

    def _decide(self, path: str | Path, base: Path | None) -> tuple[str | None, str]:
        """The reason against `path`, and the real path if there is none."""
        text = os.fspath(path)
        if reason := _malformed(text):
            return reason, ""
        if text.startswith("~"):
            text = os.path.expanduser(text)  # noqa: PTH111
        asked = os.path.join(self.workspace, base or "", text)  # noqa: PTH118
        real = _real(asked)
        if real is None:
            return f"The path {_shown(text)} is a link that leads back to itself.", ""
        return self._refused(asked, real), real

    def _refused(self, asked: str, real: str) -> str | None:
        """Why the absolute path `asked`, which is really `real`, may not be used, or None."""
        for path in (asked,) if asked == real else (asked, real):
            if secret := _secret_part(path):
                return (
                    f"The path {_shown(asked)} is off limits: {_shown(secret)} holds secrets or "
                    "runs at login. No setting opens it; ask the person to do this by hand."
                )
            # POSIX keeps a leading `//`.
            if _patterns()["trees"].match("/" + os.path.normpath(path).lstrip("/")):
                return f"The path {_shown(asked)} belongs to the system, not to files one edits."
        folded = _slashed(real)
        if folded.startswith(self._own) and _patterns()["own"].match(folded[len(self._own) :]):
            return (
                f"The path {_shown(asked)} belongs to Hookline itself: "
                "use its commands (`hookline config`, `hookline memory`) instead."
            )
        if self._root_of(real) is None:
            where = "" if asked == real else f" (it is really {_shown(real)})"
            return (
                f"The path {_shown(asked)} lies outside the workspace{where}. "
                "Stay below the workspace, or have its folder added to paths.allowed_roots."
            )
        return None

    def _root_of(self, real: str) -> str | None:
        return next((root for root in self._roots if _is_in(real, root)), None)

    @contextmanager
    def _folder_of(
        self, real: Path, enter: Callable[[str, int], int]
    ) -> Iterator[tuple[str, int | None]]:
        """The last name of `real`, and a handle on its folder for the ``dir_fd`` of `os`."""
        if os.open not in os.supports_dir_fd:  # Windows: no handles on folders.
            yield str(real), None
            return
        root = Path(self._root_of(str(real)) or self.workspace)
        start = root.parent if real == root else root
        *folders, name = real.relative_to(start).parts or (".",)
        with _named(real):
            handle = _descend(start, folders, enter)
        try:
            yield name, handle
        finally:
            os.close(handle)


def _descend(start: Path, folders: Sequence[str], enter: Callable[[str, int], int]) -> int:
    """A handle on the folder that `folders` lead to, one component at a time.

    None of them may be a link: the path was resolved before, so that a link now is one that was
    swapped in since.
    """
    handle = os.open(start, _FOLDER)
    try:
        for name in folders:
            inner = enter(name, handle)
            os.close(handle)
            handle = inner
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Puts the whole path into errors of calls that only saw its last name."""
    try:
        yield
    except PathRefused:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise PathRefused(
                f"The path {_shown(str(path))} changed while it was being opened, "
                "or passes through something that is not a folder."
            ) from error
        raise OSError(error.errno, error.strerror, str(path)) from error


def _real(path: str) -> str | None:
    """`path` with every link followed, whether it exists or not; None where links form a circle."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
    # Something is missing or hidden. Beyond that, and beyond a circle, realpath goes on by text
    # alone and may leave links behind: again, until nothing changes.
    for _ in range(_MAX_ROUNDS):
        before, path = path, os.path.realpath(path)
        if path == before:
            break
    try:
        return None if stat.S_ISLNK(os.lstat(path).st_mode) else path
    except OSError as error:
        return None if error.errno == errno.ELOOP else path


def _enter(name: str, folder: int) -> int:
    return os.open(name, _FOLDER, dir_fd=folder)


def _enter_or_make(name: str, folder: int) -> int:
    with suppress(FileExistsError):  # Also where two writers make it at once.
        os.mkdir(name, dir_fd=folder)
    return _enter(name, folder)


def _mode(name: str, folder: int | None) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _writable_mode(name: str, folder: int | None, path: Path) -> int | None:
    """The mode of the file that a write would replace; None where there is none yet."""
    mode = _mode(name, folder)
    if mode is not None:
        _require_regular(mode, path)
        # Replacing needs no right on the file itself, but a read-only file is meant to stay.
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, "The file is read-only", str(path))
    return mode


def _require_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a link, a device, a socket or a pipe"
        raise PathRefused(f"{_shown(str(path))} is {kind}, not a file with content.")


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # Unreadable, gone since, or a file.
