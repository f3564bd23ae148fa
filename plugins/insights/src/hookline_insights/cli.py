"""``hookline insights``, as Typer reads it. Imported when the command line is built."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from .report import BadDays, read_days
from .reporter import Reporter

USAGE = 2
"""Exit code for arguments that cannot be used."""


class Cli:
    """The command, called by its name."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    async def insights(
        self,
        days: Annotated[str, typer.Option(help="How many days, today included.")] = "7",
        json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
    ) -> None:
        """What was used over the last days: tokens, cost, tools, skills."""
        try:
            wanted = read_days(days)
        except BadDays as error:
            sys.stderr.write(f"hookline: --days: {error}\n")
            raise SystemExit(USAGE) from None
        found = await self._reporter.report(wanted, None)
        shown = jsonlib.dumps(asdict(found)) if json else self._reporter.text(found)
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(shown.encode(encoding, "replace").decode(encoding) + "\n")
