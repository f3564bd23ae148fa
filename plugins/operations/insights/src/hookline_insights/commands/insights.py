"""Show usage: tokens, cost, tools and skills.

``hookline insights``.
"""

from __future__ import annotations

import json as jsonlib
import shutil
import sys
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import with_plugin

from ..groups import GROUPINGS, InvalidGrouping, parse_grouping
from ..report import InvalidDays, parse_days

if TYPE_CHECKING:
    from ..plugin import Insights
    from ..reporter import Reporter


@with_plugin
async def insights(
    plugin: Insights,
    days: Annotated[str, typer.Option(metavar="N", help="Number of days, including today.")] = "7",
    by: Annotated[str, typer.Option(metavar="|".join(GROUPINGS), help="Group the usage.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the usage of the last days: tokens, cost, tools and skills."""
    try:
        day_count = parse_days(days)
    except InvalidDays as error:
        raise CommandError(f"--days: {error}") from None
    if by:
        await _show_groups(plugin.reporter, by, day_count, json=json)
        return
    found = await plugin.reporter.report(day_count, None)
    _print(jsonlib.dumps(asdict(found)) if json else _wrap_lines(plugin.reporter.text(found)))


async def _show_groups(reporter: Reporter, by: str, days: int, *, json: bool) -> None:
    try:
        found = await reporter.groups(parse_grouping(by), days, None)
    except InvalidGrouping as error:
        raise CommandError(f"--by: {error}") from None
    if json:
        _print(jsonlib.dumps([group.as_dict() for group in found]))
    else:
        _print(_wrap_lines(reporter.groups_text(by, days, found)))


def _print(shown: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(shown.encode(encoding, "replace").decode(encoding) + "\n")


def columns() -> int | None:
    """The width of the terminal; None if stdout is not a terminal."""
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def _wrap_lines(text: str) -> str:
    """Wrap lines that are wider than the terminal, without breaking words."""
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
