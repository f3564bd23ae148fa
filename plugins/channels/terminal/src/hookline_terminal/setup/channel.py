"""What a channel needs beside its settings: somebody who is admin there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hookline_markdown import literal

from .command import hookline
from .dialogue import tell

CLAIM_SECONDS = 60
"""How long making a claim code may take."""


def prepare(home: Path) -> None:
    """Show the code that makes the first admin.

    The code is made by ``hookline pairing claim``, of whatever plugin brings that command; where
    there is none, or there is an admin already, `hookline gateway` says what is to be said.
    """
    try:
        made = hookline(home, "pairing", "claim", seconds=CLAIM_SECONDS)
    except subprocess.TimeoutExpired:
        return
    if made.returncode == 0 and made.stdout.strip():
        tell(
            "Nobody is admin yet. When `hookline gateway` runs, write this code on your",
            "channel, such as to your bot; who writes it first becomes the first admin:",
            *(f"  {literal(line)}" for line in made.stdout.strip().split("\n")),
        )
