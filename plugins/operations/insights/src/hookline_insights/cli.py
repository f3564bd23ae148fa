"""``hookline insights``, as Typer reads it. Imported when the command line is built."""

from __future__ import annotations

import json as jsonlib
import shutil
import sys
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from .groups import BY, BadBy, read_by
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
        by: Annotated[str, typer.Option(help=f"For each {', '.join(BY)}.")] = "",
        json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
    ) -> None:
        """What was used over the last days: tokens, cost, tools, skills."""
        try:
            wanted = read_days(days)
        except BadDays as error:
            sys.stderr.write(f"hookline: --days: {error}\n")
            raise SystemExit(USAGE) from None
        if by:
            await self._grouped(by, wanted, json=json)
            return
        found = await self._reporter.report(wanted, None)
        shown = jsonlib.dumps(asdict(found)) if json else _folded(self._reporter.text(found))
        _say(shown)

    async def _grouped(self, by: str, days: int, *, json: bool) -> None:
        try:
            found = await self._reporter.groups(read_by(by), days, None)
        except BadBy as error:
            sys.stderr.write(f"hookline: --by: {error}\n")
            raise SystemExit(USAGE) from None
        if json:
            _say(jsonlib.dumps([one.as_dict() for one in found]))
        else:
            _say(_folded(self._reporter.groups_text(by, days, found)))


def _say(shown: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(shown.encode(encoding, "replace").decode(encoding) + "\n")


def columns() -> int | None:
    """The width of the terminal that reads along; None where none does."""
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def _folded(text: str) -> str:
    """The text without a line that is wider than the terminal; no word is broken."""
    if (width := columns()) is None:
        return text
    return "\n".join(
        line
        if len(line) <= width
        else textwrap.fill(
            line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        for line in text.split("\n")
    )
