"""Check the installation and suggest fixes.

``hookline doctor``: every check that plugins register, or why Hookline does not start.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import Check, CheckResult, CommandError, Configuration, HooklineError, Host
from hookline_hookspecs.cli import command_line, with_plugin
from hookline_hookspecs.secrets import redacted

from ..autofix import apply_fixes
from ..doctor_checks import FILE_CHECKS
from ..output import FAILED, print_json, print_text, wrap

if TYPE_CHECKING:
    from .. import Inspect

WORKS_WHEN_OFF = True
Row = dict[str, Any]
EDIT_FIX = "hookline config edit, or hookline init"


@with_plugin
def doctor(
    plugin: Inspect,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not use the network.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes.")] = False,
) -> None:
    """Check the installation and suggest a fix for each failing check.

    Exits with 1 if a check fails.
    """
    # If config or store keep Hookline from starting, that is a failing row, followed by the checks
    # that need only the home's files.
    fixed = apply_fixes(plugin.host) if fix else ()
    rows = [_row("fixed", "inspect", True, done) for done in fixed]
    try:
        rows += command_line().run(lambda plugin: run_checks(plugin.host, offline=offline))
    except CommandError as error:
        rows += _without_start(plugin.host, error)
    if json:
        print_json(rows)
    else:
        for row in rows:
            _print(row)
        _conclude(sum(not row["ok"] for row in rows), fix)
    if not all(row["ok"] for row in rows):
        raise SystemExit(FAILED)


def _print(row: Row) -> None:
    fix = f" → {row['fix']}" if not row["ok"] else f" (optional: {row['fix'].rstrip('.')})"
    mark = "ok  " if row["ok"] else "FAIL"
    line = f"{mark} {row['plugin']}: {row['name']}: {row['detail']}{fix if row['fix'] else ''}"
    print_text(wrap(line, len(mark) + 1))


def _conclude(failing: int, fixed: bool) -> None:
    """Print the last line: how many checks fail."""
    if not failing:
        print_text("No problems found.")
        return
    found = "1 problem found" if failing == 1 else f"{failing} problems found"
    fix = "" if fixed else " `hookline doctor --fix` applies the fixes that are always safe."
    print_text(wrap(f"{found}. The fix for each follows its →.{fix}"))


async def run_checks(host: Host, *, offline: bool) -> list[Row]:
    """Run all checks; return ``name plugin ok detail fix`` for each. One that raises has failed."""
    rows = [await run_check(plugin, check, offline) for plugin, check in host.registered(Check)]
    if offline:
        return rows
    from ..key_check import try_key
    from ..local_servers import is_local_model, local_servers_check
    from ..window_check import check_window

    if all(row["ok"] for row in rows if row["name"] == "model"):
        rows.append(await run_check("inspect", Check("key", partial(try_key, host)), offline))
        if rows[-1]["ok"]:
            window = Check("window", partial(check_window, host))
            return [*rows, await run_check("inspect", window, offline)]
        if not is_local_model(host):
            return rows
    if check := await local_servers_check(host):
        rows.append(await run_check("inspect", check, offline))
    return rows


async def run_check(plugin: str, check: Check, offline: bool) -> Row:
    """Run a check; one that raises has failed."""
    try:
        takes_offline = "offline" in inspect.signature(check.run).parameters
        returned = check.run(**({"offline": offline} if takes_offline else {}))
        result = await returned if inspect.isawaitable(returned) else returned
    except (Exception, SystemExit) as error:
        return _row(check.name, plugin, False, f"the check failed: {error}", "see the log")
    if not isinstance(result, CheckResult):
        detail = f"expected a CheckResult, got {type(result).__name__}{_place(check.run)}"
        fix = "return CheckResult(ok, detail)" if isinstance(result, bool) else "correct the plugin"
        return _row(check.name, plugin, False, detail, fix)
    return _row(check.name, plugin, result.ok or result.hint, result.detail, result.fix)


def _place(function: Callable[..., object]) -> str:
    """Return `` (FILE:LINE)`` of a function; empty if it was not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _row(name: str, plugin: str, ok: bool, detail: str, fix: str = "") -> Row:
    return {
        "name": name,
        "plugin": plugin,
        "ok": ok,
        "detail": redacted(detail),
        "fix": redacted(fix),
    }


def _without_start(host: Host, error: CommandError) -> Iterator[Row]:
    """A row for each reason why Hookline does not start, and the checks of the home's files."""
    name = "start"
    fix = "fix this first; the other checks need Hookline to start"
    try:
        host.services[Configuration].effective()
    except HooklineError:
        name = "config"
        fix = EDIT_FIX
    yield from (_row(name, "core", False, text, fix) for text in error.text.split("\n"))
    if host.home.is_dir():
        for name, run in FILE_CHECKS.items():
            result = run(host)
            yield _row(name, "inspect", result.ok or result.hint, result.detail, result.fix)
