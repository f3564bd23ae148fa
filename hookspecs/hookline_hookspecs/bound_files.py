"""The files that an approval is bound to: those that a call runs, sends or writes.

A person approves a call as they know its files at that moment. Each file is compared right before
the call begins; if one has changed, the person is asked again.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .regular_files import open_regular

if TYPE_CHECKING:
    from .host import Context
    from .messages import ToolCall
    from .paths import Paths

MAX_HASHED_BYTES = 5_000_000
"""A larger file is recognized by its size, inode and times instead of its content."""
BY_TIMES = "by times: "
"""Begins the digest of a file that is recognized so."""
MAX_KEPT_CHARS = 50_000
"""Characters of a text file that are kept, so that a person can be shown what has changed."""


@dataclass(frozen=True, slots=True)
class BoundFile:
    """A file as it was when a person was asked about a call.

    Attributes:
        path: the absolute path, as the call names it.
        digest: SHA-256 of the content, in hexadecimal, or other text that changes with the file;
            empty if there is no such file.
        is_written: the call itself writes the file, so a grant does not depend on its content.
        text: the content, if it is text, not too long and no secret; else None.
    """

    path: str
    digest: str
    is_written: bool = False
    text: str | None = None

    @property
    def is_hashed(self) -> bool:
        """True if the digest is that of the content."""
        return len(self.digest) == 64


class CommandFiles(Protocol):
    """The files that a command names or runs. The plugin ``permissions`` provides it."""

    def command_files(self, call: ToolCall, paths: Paths) -> Mapping[str, bool]:
        """Return the absolute paths that a call of ``bash`` names, each with whether the command
        only writes it; empty for other calls. Not every path exists."""
        return {}


class CallFiles(Protocol):
    """The files that an approval of a call is bound to. ``host.services[CallFiles]`` is always
    available."""

    async def of_call(self, ctx: Context, call: ToolCall) -> tuple[BoundFile, ...]:
        """Return the files that a call runs, sends or writes, as they are now."""
        return ()


def read_bound_file(
    path: str, *, is_written: bool = False, keep_text: bool = False, by_content: bool = True
) -> BoundFile:
    """Return a file as it is now; links are followed.

    With ``keep_text`` a short text is kept. Without ``by_content`` the file is not read.
    """
    try:
        place = Path(os.path.realpath(path))
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            return BoundFile(path, "", is_written)
        if not by_content or found.st_size > MAX_HASHED_BYTES:
            known = (found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
            return BoundFile(path, f"{BY_TIMES}{known}", is_written)
        with open_regular(place) as file:
            data = file.read(MAX_HASHED_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return BoundFile(path, "", is_written, "" if keep_text else None)
    except (OSError, ValueError) as error:
        return BoundFile(path, f"unreadable: {type(error).__name__}", is_written)
    text = _as_text(data) if keep_text else None
    return BoundFile(path, hashlib.sha256(data).hexdigest(), is_written, text)


def _as_text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) <= MAX_KEPT_CHARS and "\0" not in text else None


def changed_files(files: Sequence[BoundFile]) -> list[tuple[BoundFile, BoundFile]]:
    """Return the files that have changed since, each as it was and as it is now."""
    pairs = ((one, _read_again(one)) for one in files)
    return [(before, now) for before, now in pairs if before.digest != now.digest]


def _read_again(file: BoundFile) -> BoundFile:
    return read_bound_file(
        file.path,
        is_written=file.is_written,
        keep_text=file.text is not None,
        by_content=not file.digest.startswith(BY_TIMES),
    )


def describe_changes(changes: Sequence[tuple[BoundFile, BoundFile]], workspace: Path) -> str:
    """Return what has changed, for a person: a diff for each text file."""
    return "\n\n".join(_describe(before, now, workspace) for before, now in changes)


def _describe(before: BoundFile, now: BoundFile, workspace: Path) -> str:
    name = before.path.removeprefix(f"{workspace}/")
    if not now.digest:
        return f"{name} was deleted since you were asked."
    if before.text is None or now.text is None:
        what = "has changed" if before.digest else "was created"
        return f"{name} {what} since you were asked. Its lines cannot be compared here."
    lines = difflib.unified_diff(
        before.text.split("\n"),
        now.text.split("\n"),
        f"{name} (as you were asked)",
        f"{name} (now)",
        lineterm="",
    )
    return "\n".join(lines)


def bound_files_to_json(files: Sequence[BoundFile]) -> list[dict[str, Any]]:
    """Return the files as JSON values."""
    return [asdict(one) for one in files]


def bound_files_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[BoundFile, ...]:
    """Return the files of :func:`bound_files_to_json`.

    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for other values.
    """
    return tuple(
        BoundFile(str(one["path"]), str(one["digest"]), bool(one["is_written"]), one.get("text"))
        for one in values
    )
