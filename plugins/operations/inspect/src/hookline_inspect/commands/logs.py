"""Show the log, of all plugins or of one.

``hookline logs``: reads ``logs/hookline.log`` in the home, without starting Hookline.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Annotated

import typer
from hookline_hookspecs.cli import command_line

from ..log_file import LEVELS, LogRecord, read_records
from ..output import exit_with_error, print_json, print_text

WORKS_WHEN_OFF = True


def logs(
    plugin: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show only what concerns this plugin.")
    ] = None,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"The least serious level: {', '.join(LEVELS)}.")
    ] = "debug",
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="Number of records.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new records.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, one record per line.")] = False,
) -> None:
    """Show the newest records of the log."""
    if level.lower() not in LEVELS:
        exit_with_error(f"unknown level {level}. Use {', '.join(LEVELS)}.")

    def is_shown(record: LogRecord) -> bool:
        return record.is_at_least(level.lower()) and (plugin is None or record.concerns(plugin))

    path = command_line().home / "logs" / "hookline.log"
    records = read_records(path, follow=follow)
    already_written = iter(partial(next, records, None), None)
    for record in deque(filter(is_shown, already_written), maxlen=lines):
        _print(record, json)
    for new in records:
        if new is not None and is_shown(new):
            _print(new, json)


def _print(record: LogRecord, json: bool) -> None:
    if json:
        fields = ("time", "level", "logger", "text")
        print_json({name: getattr(record, name) for name in fields})
    else:
        print_text(str(record))
