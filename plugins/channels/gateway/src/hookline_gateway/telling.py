"""Lines on stderr, each written at once and whole."""

from __future__ import annotations

import sys
from typing import NoReturn

from hookline_hookspecs.secrets import redacted

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""


def tell(text: str) -> None:
    """A line for whoever started the gateway, without secrets."""
    sys.stderr.write(redacted(text) + "\n")
    sys.stderr.flush()


def stop(text: str, code: int = FAILED) -> NoReturn:
    """End with a sentence."""
    tell(f"hookline: {text}")
    raise SystemExit(code)
