"""The code that makes the first admin of a channel."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hookline_markdown import literal

from .dialogue import tell
from .hookline_process import run_hookline

CLAIM_TIMEOUT = 60
"""Seconds for ``hookline pairing claim``."""


def show_claim_code(home: Path) -> None:
    """Show the code that ``hookline pairing claim`` makes.

    Nothing is shown if no plugin has that command or there is an admin already.
    """
    try:
        made = run_hookline(home, "pairing", "claim", timeout=CLAIM_TIMEOUT)
    except subprocess.TimeoutExpired:
        return
    if made.returncode == 0 and made.stdout.strip():
        tell(
            "There is no admin yet. Start `hookline gateway`, then send this code on your",
            "channel, such as to your bot. The first person to send it becomes admin:",
            *(f"  {literal(line)}" for line in made.stdout.strip().split("\n")),
        )
