"""Check the installation and suggest fixes.

``hookline doctor``: every check that plugins register, or why Hookline does not start.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import Check, CommandError, Configuration, HooklineError, Host
from hookline_hookspecs.cli import command_line, with_plugin
from hookline_hookspecs.secrets import redacted

from ..autofix import apply_fixes
from ..checks import FILES
from ..output import FAILED, folded, out, out_json

if TYPE_CHECKING:
    from .. import Inspect

WORKS_WHEN_OFF = True
Row = dict[str, Any]
EDIT = "hookline config edit, or hookline init"


@with_plugin
def doctor(
    plugin: Inspect,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not use the network.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply the fixes that are always safe.")
    ] = False,
) -> None:
    """Check the installation and suggest a fix for each failing check; exit with 1 if one fails."""
    # Where config or store keep Hookline from starting, that is a failing row, followed by the
    # checks that need only the files of the home.
    fixed = apply_fixes(plugin.host) if fix else ()
    rows = [_row("fixed", "inspect", True, done) for done in fixed]
    try:
        rows += command_line().run(lambda plugin: checked(plugin.host, offline=offline))
    except CommandError as error:
        rows += _without_start(plugin.host, error)
    if json:
        out_json(rows)
    else:
        for row in rows:
            _print(row)
        _conclude(sum(not row["ok"] for row in rows), fix)
    if not all(row["ok"] for row in rows):
        raise SystemExit(FAILED)


def _print(row: Row) -> None:
    told = f" → {row['fix']}" if not row["ok"] else f" (optional: {row['fix'].rstrip('.')})"
    mark = "ok  " if row["ok"] else "FAIL"
    line = f"{mark} {row['plugin']}: {row['name']}: {row['detail']}{told if row['fix'] else ''}"
    out(folded(line, len(mark) + 1))


def _conclude(failing: int, fixed: bool) -> None:
    """The last line: how many checks fail."""
    if not failing:
        out("No problems found.")
        return
    found = "1 problem found" if failing == 1 else f"{failing} problems found"
    fix = "" if fixed else " `hookline doctor --fix` applies the fixes that are always safe."
    out(folded(f"{found}. The fix for each stands after its →.{fix}"))


async def checked(host: Host, *, offline: bool) -> list[Row]:
    """``name plugin ok detail fix`` of each check; one that raises has failed."""
    rows = [await run_check(plugin, check, offline) for plugin, check in host.registered(Check)]
    if offline:
        return rows
    from ..key import try_key
    from ..local import found_check, is_model_here

    if all(row["ok"] for row in rows if row["name"] == "model"):
        rows.append(await run_check("inspect", Check("key", partial(try_key, host)), offline))
        if rows[-1]["ok"] or not is_model_here(host):
            return rows
    if check := await found_check(host):
        rows.append(await run_check("inspect", check, offline))
    return rows


async def run_check(plugin: str, check: Check, offline: bool) -> Row:
    """Run a check; one that raises has failed."""
    try:
        wants = "offline" in inspect.signature(check.run).parameters
        made = check.run(**({"offline": offline} if wants else {}))
        result = await made if inspect.isawaitable(made) else made
    except (Exception, SystemExit) as error:
        return _row(check.name, plugin, False, f"the check failed: {error}", "see the log")
    return _row(check.name, plugin, result.ok or result.hint, result.detail, result.fix)


def _row(name: str, plugin: str, ok: bool, detail: str, fix: str = "") -> Row:
    return {
        "name": name,
        "plugin": plugin,
        "ok": ok,
        "detail": redacted(detail),
        "fix": redacted(fix),
    }


def _without_start(host: Host, error: CommandError) -> Iterator[Row]:
    """Why Hookline does not start, a row for each reason, and the checks of the files."""
    name, fix = "start", "fix this first; the other checks need Hookline to start"
    try:
        host.services[Configuration].effective()
    except HooklineError:
        name, fix = "config", EDIT
    yield from (_row(name, "core", False, text, fix) for text in error.text.split("\n"))
    if host.home.is_dir():
        for name, run in FILES.items():
            result = run(host)
            yield _row(name, "inspect", result.ok or result.hint, result.detail, result.fix)
