"""Check whether the gateway is running: exit code 0 or 1.

``hookline health``.
"""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer
from hookline_hookspecs.cli import command_line

from ..health import judged


def health(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check whether this home's gateway is running; exit with 0 if it is, else 1."""
    fault, found = judged(command_line().home)
    detail = fault or f"The gateway is up: {', '.join(found['channels'])}."
    row = {"ok": fault is None, "detail": detail, **found}
    typer.echo(jsonlib.dumps(row, ensure_ascii=False) if json else detail)
    if fault is not None:
        raise SystemExit(1)
