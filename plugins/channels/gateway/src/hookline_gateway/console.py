"""Lines on stderr, each written whole and flushed."""

from __future__ import annotations

import sys
from typing import NoReturn

from hookline_hookspecs.secrets import redacted

EXIT_FAILED, EXIT_USAGE = 1, 2
"""Exit codes."""


def write_line(text: str) -> None:
    """Write a line to stderr, with secrets redacted."""
    sys.stderr.write(redacted(text) + "\n")
    sys.stderr.flush()


def exit_with(text: str, code: int = EXIT_FAILED) -> NoReturn:
    """Write a line to stderr and exit."""
    write_line(f"hookline: {text}")
    raise SystemExit(code)
