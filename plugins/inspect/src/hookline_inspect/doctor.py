"""``hookline doctor``: every check that plugins register, or why Hookline does not start."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from hookline_hookspecs import Check, CommandError, Host
from hookline_secretfilter import redacted

from .output import FAILED, out, out_json


def show(ctx: typer.Context, json: bool) -> None:
    """Run the checks and print a row for each; exit with 1 if one fails.

    Raises ``CommandError`` where config or store keep Hookline from starting.
    """
    try:
        rows = ctx.obj(_checked)
    except CommandError as error:
        row = {"name": "start", "plugin": "core", "ok": False, "detail": redacted(error.text)}
        if json:
            out_json([{**row, "fix": "mend this first; nothing else could be checked"}])
        raise
    if json:
        out_json(rows)
    else:
        for row in rows:
            fix = f" → {row['fix']}" if row["fix"] else ""
            mark = "ok  " if row["ok"] else "FAIL"
            out(f"{mark} {row['plugin']}: {row['name']}: {row['detail']}{fix}")
    if not all(row["ok"] for row in rows):
        raise SystemExit(FAILED)


async def _checked(host: Host) -> list[dict[str, Any]]:
    """``name plugin ok detail fix`` of each check; one that raises has failed."""
    rows = []
    for plugin, check in host.registered(Check):
        try:
            made = check.run()
            result = await made if inspect.isawaitable(made) else made
            row = {"ok": result.ok or result.hint, "detail": result.detail, "fix": result.fix}
        except (Exception, SystemExit) as error:
            row = {"ok": False, "detail": f"the check failed: {error}", "fix": "see the log"}
        shown = {
            key: redacted(part) if isinstance(part, str) else part for key, part in row.items()
        }
        rows.append({"name": check.name, "plugin": plugin, **shown})
    return rows
