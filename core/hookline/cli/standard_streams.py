"""The standard streams and the current folder, which a parent program may have taken away."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is too large",
    errno.EBADF: "it is closed",
}


def missing_part() -> str | None:
    """A sentence if Hookline cannot run here, or None. A closed input counts as empty."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - for the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        return "Standard output is closed. Redirect it to a file or to /dev/null."
    try:
        os.getcwd()  # noqa: PTH109 - the check itself
    except FileNotFoundError:
        return "The current folder no longer exists. Change to another folder and try again."
    except OSError as error:
        return f"The current folder cannot be used: {error.strerror}. Change to another folder."
    return None


def unwritable_output(error: BaseException) -> str | None:
    """A sentence if ``error`` says that standard output cannot be written, or None."""
    if not isinstance(error, OSError) or error.errno not in _FULL or error.filename is not None:
        return None
    return f"Standard output cannot be written: {_FULL[error.errno]}."


@contextmanager
def written_output() -> Iterator[None]:
    """Write what standard output still holds when the block ends.

    Raises:
        OSError: it cannot be written; nothing more is tried when the process ends.
    """
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
