"""Finds other paths of a folder: bind mounts of it, of a folder above it or of one in it.

A bind mount is not a link: neither `realpath` nor the link count of a file reveals it. Source:
proc_pid_mountinfo(5). On systems other than Linux, none are found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTS = "/proc/self/mountinfo"
_ESCAPE = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class _Mount:
    device: bytes
    root: str
    point: str


def aliases(folder: str) -> tuple[tuple[str, str], ...]:
    """Other paths of `folder` (resolved) or of a part of it, each with that part.

    Parts are relative to the folder; ``""`` is the whole folder.
    """
    mounts = list(_mounts())
    # The deepest mount contains the folder; of several at the same point, the last.
    around = [mount for mount in mounts if _below(folder, mount.point) is not None]
    over = max(reversed(around), key=lambda mount: len(mount.point), default=None)
    if over is None:
        return ()
    parts = [(over.device, _join(over.root, _below(folder, over.point) or ""), "")]
    for mount in mounts:
        if inner := _below(mount.point, folder):
            parts.append((mount.device, mount.root, inner))
    found: dict[str, str] = {}
    for mount in mounts:
        for device, source, part in parts:
            if mount.device != device:
                continue
            if (rest := _below(source, mount.root)) is not None:
                found[_join(mount.point, rest)] = part
            elif (rest := _below(mount.root, source)) is not None:
                found[mount.point] = _join(part, rest).lstrip("/")
    return tuple((at, part) for at, part in found.items() if _below(at, folder) is None)


def _mounts() -> Iterator[_Mount]:
    try:
        lines = Path(MOUNTS).read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        fields = line.split(b" ")
        if len(fields) > 4:
            yield _Mount(fields[2], _text(fields[3]), _text(fields[4]))


def _text(field: bytes) -> str:
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), field))


def _below(path: str, folder: str) -> str | None:
    """`path` relative to `folder`: empty if they are equal, None if it is not in the folder."""
    if path == folder:
        return ""
    prefix = folder.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _join(folder: str, rest: str) -> str:
    return f"{folder.rstrip('/')}/{rest}" if rest else folder
