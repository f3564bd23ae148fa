"""The plugins' commands of the command line, run in a test as the program runs them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import typer

from hookline.cli.plugin_commands import STORE_CLOSED, PluginCommands, invoke
from hookline.runtime import Runtime
from hookline.store.absent import AbsentStore


@dataclass(frozen=True, slots=True)
class CliResult:
    """What a command line came to."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(
    arguments: str,
    given: str,
    make_runtime: Callable[[Any], Runtime],
    in_runtime: Callable[..., Any],
) -> CliResult:
    """Run ``hookline ARGUMENTS`` with the text ``given`` on standard input.

    Args:
        make_runtime: makes a runtime with this store, not opened, that knows the plugins.
        in_runtime: see ``PluginCommands``.
    """
    options = {"help_option_names": ["-h", "--help"]}
    root = typer.main.get_group(typer.Typer(rich_markup_mode=None, context_settings=options))
    out, errors, stdin = StringIO(), StringIO(), sys.stdin
    with redirect_stdout(out), redirect_stderr(errors):
        sys.stdin = StringIO(given)
        try:
            runtime = make_runtime(AbsentStore(STORE_CLOSED))
            runtime.plugins.load()
            commands = PluginCommands(root, runtime, in_runtime)
            code: Any = invoke(root, shlex.split(arguments), commands.explain)
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdin = stdin
    if isinstance(code, str):  # as Python itself ends
        errors.write(f"{code}\n")
        code = 1
    return CliResult(code or 0, out.getvalue(), errors.getvalue())
