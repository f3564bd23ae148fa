"""A file that is parsed again when it has changed."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
SETTLE_SECONDS = 2.0
"""Age of a file's last change from which it counts as written. Until then it is read at each use,
and a mistake in it is not reported."""
Stamp: TypeAlias = "tuple[int, int, int] | None"
"""Time of the last change in ns, size and inode; None for a missing file."""
_LINE_IN_MESSAGE = re.compile(r"\bline (\d+)")


class WatchedFile(Generic[T]):
    """The parsed content of a file.

    Args:
        path: the file.
        parse: makes the value of the text; raises an exception if that is wrong.
        default: the value while there is no file, and until one can be parsed.
        report: receives a sentence about each version of the file that cannot be used.
    """

    def __init__(
        self, path: Path, parse: Callable[[str], T], default: T, report: Callable[[str], None]
    ) -> None:
        self.path = path
        self.problem = ""
        self._parse = parse
        self._default = self._value = default
        self._report = report
        self._stamp: Stamp | str = "never read"
        self._text: str | None = None

    @property
    def value(self) -> T:
        """The value of the newest version that could be parsed."""
        try:
            status = self.path.stat()
        except OSError:
            self._stamp = self._text = None
            self._value, self.problem = self._default, ""
            return self._value
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            is_written = abs(time.time() - status.st_mtime) >= SETTLE_SECONDS
            self._read(stat.S_ISREG(status.st_mode), is_written)
            self._stamp = stamp if is_written else "may still change"
        return self._value

    def _read(self, is_regular: bool, is_written: bool) -> None:
        try:
            if not is_regular:  # reading a pipe may never end
                raise ValueError("this is not a file")
            text = self.path.read_text("utf-8")
            if text == self._text and not self.problem:
                return
            self._value = self._parse(text)
            self._text, self.problem = text, ""
        except Exception as error:
            self.problem = f"{self.path}{_line(error)}: {_reason(error)}"
            if is_written:
                self._report(f"{self.problem}. The previous version stays in use")


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)  # PyYAML
    line = mark.line + 1 if mark is not None else getattr(error, "lineno", None)
    if line is None and (found := _LINE_IN_MESSAGE.search(str(error))):
        line = int(found[1])
    return f":{line}" if line is not None else ""


def _reason(error: Exception) -> str:
    """The error in one line."""
    problem = getattr(error, "problem", None) or getattr(error, "msg", None) or str(error)
    return str(problem).strip().split("\n")[0].rstrip(".") or type(error).__name__
