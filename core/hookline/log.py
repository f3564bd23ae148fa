"""Log records without secrets, and the log file."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.visible_text import spell_out_prose

from .home import find_home, make_home

_BYTES = 2_000_000
_KEPT = 3
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@cache
def filter_log_records() -> None:
    """Mask secrets in every log record of this process when the record is created.

    This covers all loggers and handlers, including those that a library or a plugin adds. A record
    without a secret is not changed.
    """
    make = logging.getLogRecordFactory()

    def filtered(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        _clean(record)
        return record

    logging.setLogRecordFactory(filtered)


def _clean(record: logging.LogRecord) -> None:
    try:
        text = record.getMessage()
    except Exception:  # logging would print the arguments of a record that it cannot format
        text = f"a log message that cannot be formatted: {str(record.msg)[:200]}"
        record.msg, record.args = redacted(text), ()
        return
    if (clean := redacted(text)) != text:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[1] is not None:
        shown = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (clean := redacted(shown)) != shown:
            # A handler that formats the exception itself would show the secret.
            record.exc_text, record.exc_info = clean, None
    if record.stack_info:
        record.stack_info = redacted(record.stack_info)


class _LineFormatter(logging.Formatter):
    """Writes records so that no text in them passes for another record or controls a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; its lines after the first are indented."""
        return spell_out_prose(super().format(record)).replace("\n", "\n  ")


class _Private(RotatingFileHandler):
    """A rotating file with mode 0600. Records that cannot be written to it go to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is not None and not Path(self.baseFilename).exists():
            self.close()  # writes to a deleted file would be lost
            self.stream = None
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if isinstance(sys.exc_info()[1], OSError):
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        else:
            super().handleError(record)

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND, 0o600))
        return super()._open()


def open_log(folder: Path) -> logging.Handler:
    """A handler for ``hookline.log`` in ``folder``, which is created with mode 0700.

    Raises:
        OSError: the folder cannot be created.
    """
    folder.mkdir(exist_ok=True, mode=0o700)
    handler = _Private(
        folder / "hookline.log",
        maxBytes=_BYTES,
        backupCount=_KEPT,
        delay=True,
        encoding="utf-8",
        errors="backslashreplace",  # errors of plugins may contain lone surrogates
    )
    handler.setFormatter(_LineFormatter(FORMAT))
    return handler


def log_to_home(level: str = "warning", plugins: Mapping[str, str] = {}) -> None:
    """Create the home if necessary, and log only to its ``logs/hookline.log``.

    ``level`` is the least serious level that is written; ``plugins`` gives plugins another one.
    """
    make_home(find_home())
    root = logging.getLogger("hookline")
    root.handlers[:] = [open_log(find_home() / "logs")]
    root.propagate = False
    root.setLevel(level.upper())
    for plugin, own_level in plugins.items():
        logging.getLogger(f"hookline.plugin.{plugin}").setLevel(own_level.upper())
