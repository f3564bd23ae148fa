"""Piped input, which is added to the prompt: ``git diff | hookline run "Review this."``

Nothing is read from a terminal, from ``/dev/null``, or from a file that another program has begun
to read (a ``while read`` loop). A pipe may be inherited, with no writer, as under cron, ssh or
another program. Therefore the wait is unlimited only if a program of the same pipeline has its
other end, and :data:`PIPE_TIMEOUT` otherwise.
"""

from __future__ import annotations

import os
import re
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs import CommandError

PIPE_TIMEOUT = 0.5
"""Seconds until a pipe without a known writer counts as empty."""
MAX_STDIN_BYTES = 400_000
_PROC = Path("/proc")
_TICKS = re.compile(r"`{3,}")


def with_piped_text(prompt: str) -> str:
    """Return the prompt, followed by the piped input in a code fence, if there is any.

    Raises:
        CommandError: the input is not text.
    """
    text, note = _text()
    if not text.strip():
        return prompt
    fence = max(_TICKS.findall(text), key=len, default="``") + "`"
    end = "\n" if not text.endswith("\n") else ""
    return f"{prompt}\n\n{fence}\n{text}{end}{fence}{note}"


def piped_text() -> str:
    """Return the piped input; empty if there is none.

    Raises:
        CommandError: the input is not text.
    """
    return "".join(_text())


def _text() -> tuple[str, str]:
    """Return the piped input, and a note for the model if it was cut."""
    data = _read()
    if b"\0" in data:
        raise CommandError("stdin is not text. Pass an image with --image")
    if len(data) <= MAX_STDIN_BYTES:
        return data.decode("utf-8", "replace"), ""
    note = f"Only the first {MAX_STDIN_BYTES:,} bytes of stdin are above; the rest was left out."
    sys.stderr.write(f"hookline: {note}\n")
    return data[:MAX_STDIN_BYTES].decode("utf-8", "ignore"), f"\n[{note}]"


def _read() -> bytes:
    """Read at most one byte more than :data:`MAX_STDIN_BYTES`."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or never there
        return b""
    if stat.S_ISREG(mode):
        if os.lseek(descriptor, 0, os.SEEK_CUR):
            return b""
    elif not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) or not _has_data(descriptor):
        return b""
    return b"".join(_pieces(descriptor))


def _pieces(descriptor: int) -> Iterator[bytes]:
    left = MAX_STDIN_BYTES + 1
    while left and (piece := os.read(descriptor, min(left, 65_536))):
        left -= len(piece)
        yield piece


def _has_data(descriptor: int) -> bool:
    """Whether the pipe has data or has ended, or will."""
    if not hasattr(select, "poll") or _ready(descriptor, PIPE_TIMEOUT):
        return True
    if _has_writer(descriptor):
        return True
    sys.stderr.write("hookline: no input on stdin; ignored. Use - to wait for it\n")
    return False


def _ready(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _has_writer(descriptor: int) -> bool:
    """Whether another program of this pipeline has the other end open.

    A shell puts the programs of a pipeline into one process group. The parents of this process do
    not count: they may hold the pipe open without ever writing to it.
    """
    try:
        pipe = (_PROC / "self" / "fd" / str(descriptor)).readlink()
    except OSError:
        return False
    group, above = os.getpgrp(), set(_ancestors())
    for process in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):
            number = int(process.name)
            if number not in above and os.getpgid(number) == group and _writes(process, pipe):
                return True
    return False


def _ancestors() -> Iterator[int]:
    """Yield the ids of this process and its parents."""
    number = os.getpid()
    while number > 0:
        yield number
        try:
            line = (_PROC / str(number) / "stat").read_text("utf-8", "replace")
            number = int(line.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def _writes(process: Path, pipe: Path) -> bool:
    for entry in (process / "fd").iterdir():
        if entry.readlink() == pipe:
            flags = (process / "fdinfo" / entry.name).read_text("utf-8")
            if int(re.findall(r"flags:\s*(\d+)", flags)[0], 8) & os.O_ACCMODE != os.O_RDONLY:
                return True
    return False
