"""What comes through a pipe behind the prompt: ``git diff | hookline run "Review this."``

Nothing is read of a terminal, of ``/dev/null``, or of a file that somebody has begun to read (a
``while read`` loop). A pipe may be one that was merely inherited and that nobody will ever write
to, as under cron, ssh or another program: it is waited for without an end only where a program of
the same pipeline has its other end, else :data:`PATIENCE` long.
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

PATIENCE = 0.5
"""Seconds until a pipe to which no program of the pipeline writes counts as one without data."""
LARGEST = 400_000
"""Bytes that are taken of stdin."""
_PROC = Path("/proc")
_TICKS = re.compile(r"`{3,}")


def behind(prompt: str) -> str:
    """Return the prompt, followed by what comes through stdin, if anything does.

    Raises:
        CommandError: it is not a text.
    """
    text, told = _text()
    if not text.strip():
        return prompt
    fence = max(_TICKS.findall(text), key=len, default="``") + "`"
    end = "\n" if not text.endswith("\n") else ""
    return f"{prompt}\n\n{fence}\n{text}{end}{fence}{told}"


def alone() -> str:
    """Return what comes through stdin as the prompt itself; nothing if nothing does.

    Raises:
        CommandError: it is not a text.
    """
    return "".join(_text())


def _text() -> tuple[str, str]:
    """What comes through stdin, and a line for the model where it was cut."""
    data = _read()
    if b"\0" in data:
        raise CommandError("what comes through stdin is not a text; pass a picture with --image")
    if len(data) <= LARGEST:
        return data.decode("utf-8", "replace"), ""
    told = f"Only the first {LARGEST:,} bytes of stdin are above; the rest was left out."
    sys.stderr.write(f"hookline: {told}\n")
    return data[:LARGEST].decode("utf-8", "ignore"), f"\n[{told}]"


def _read() -> bytes:
    """At most one byte more than :data:`LARGEST`."""
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
    left = LARGEST + 1
    while left and (piece := os.read(descriptor, min(left, 65_536))):
        left -= len(piece)
        yield piece


def _has_data(descriptor: int) -> bool:
    """Whether data or the end of a pipe has come, or is sure to come."""
    if not hasattr(select, "poll") or _ready(descriptor, PATIENCE):
        return True
    if _is_written(descriptor):
        return True
    sys.stderr.write("hookline: nothing came through stdin, so it is left out (- waits for it)\n")
    return False


def _ready(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _is_written(descriptor: int) -> bool:
    """Whether another program of this pipeline has the other end open.

    A shell puts the programs of a pipeline into one process group. Who started this process may
    hold the pipe for reasons of its own, and does not count.
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
    """This process and those that started it."""
    number = os.getpid()
    while number > 0:
        yield number
        try:
            said = (_PROC / str(number) / "stat").read_text("utf-8", "replace")
            number = int(said.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def _writes(process: Path, pipe: Path) -> bool:
    for entry in (process / "fd").iterdir():
        if entry.readlink() == pipe:
            flags = (process / "fdinfo" / entry.name).read_text("utf-8")
            if int(re.findall(r"flags:\s*(\d+)", flags)[0], 8) & os.O_ACCMODE != os.O_RDONLY:
                return True
    return False
