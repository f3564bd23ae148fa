"""Check whether the gateway is running.

``hookline health``.
"""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer
from hookline_hookspecs.cli import command_line

from ..health import read_health


def health(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check whether the gateway of this home is running.

    Exits with 0 if it is, with 1 if not.
    """
    problem, found = read_health(command_line().home)
    detail = problem or f"The gateway is up: {', '.join(found['channels'])}."
    row = {"ok": problem is None, "detail": detail, **found}
    typer.echo(jsonlib.dumps(row, ensure_ascii=False) if json else detail)
    if problem is not None:
        raise SystemExit(1)
