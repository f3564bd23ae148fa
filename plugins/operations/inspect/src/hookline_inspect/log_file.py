"""Reads the records of Hookline's log, also while it is written and rotated."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error", "critical")
POLL_SECONDS = 0.2
"""Seconds between two looks for new records."""
_FIRST_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (?P<level>[A-Z]+) "
    r"(?P<logger>[^\s:]+): (?P<text>.*)"
)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the log. ``text`` may have several lines."""

    time: str
    level: str
    logger: str
    text: str

    def concerns(self, plugin: str) -> bool:
        """Return True if the plugin wrote the record or core wrote it about the plugin."""
        about = re.compile(rf"\bplugin {re.escape(plugin)}(?![\w:-])")
        return self.logger == f"hookline.plugin.{plugin}" or about.search(self.text) is not None

    def is_at_least(self, level: str) -> bool:
        """Return True if the record has this level or a more serious one."""
        own = self.level.lower()
        return own not in LEVELS or LEVELS.index(own) >= LEVELS.index(level)

    def __str__(self) -> str:
        return f"{self.time} {self.level} {self.logger}: {self.text}"


def read_records(path: Path, *, follow: bool) -> Iterator[LogRecord | None]:
    """The records of the log and of its rotated files, oldest first.

    With ``follow`` it does not end: it waits for records, and gives None while there is none.
    """
    file = _opened(path)  # before the rotated files, so that no record is missed or read twice
    rotated = sorted(path.parent.glob(f"{path.name}.[0-9]*"), key=lambda one: -int(one.suffix[1:]))
    for old in filter(None, map(_opened, rotated)):
        with old:
            yield from _records(old)
    while True:
        if file is not None:
            yield from _records(file)
        if not follow:
            break
        if file is not None and _is_replaced(path, file):
            yield from _records(file)  # written before the file was rotated
            file.close()
            file = None
        else:
            yield None
            time.sleep(POLL_SECONDS)
        file = file or _opened(path)
    if file is not None:
        file.close()


def _records(lines: TextIO) -> Iterator[LogRecord]:
    """The records in these lines; lines that do not begin one belong to the last."""
    parts: list[str] = []
    first: re.Match[str] | None = None
    for line in lines:
        found = _FIRST_LINE.match(line)
        if found is None:
            parts.append(line.rstrip("\n"))
            continue
        if first is not None:
            yield _record(first, parts)
        first, parts = found, []
    if first is not None:
        yield _record(first, parts)


def _record(first: re.Match[str], parts: list[str]) -> LogRecord:
    return LogRecord(
        first["time"], first["level"], first["logger"], "\n".join([first["text"], *parts])
    )


def _opened(path: Path) -> TextIO | None:
    try:
        return path.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _is_replaced(path: Path, file: TextIO) -> bool:
    """Return True if the log was rotated or deleted since ``file`` was opened."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return True
    was = os.fstat(file.fileno())
    return (now.st_dev, now.st_ino) != (was.st_dev, was.st_ino) or now.st_size < file.tell()
