"""Runs the plugins' command-line commands in a test as the program does."""

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
    """The result of a command line."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(
    arguments: str, given: str, make_runtime: Callable[[Any], Runtime], in_runtime: Callable[..., Any]
) -> CliResult:
    """Run ``hookline ARGUMENTS`` with the text ``given`` on standard input.

    Args:
        make_runtime: creates a runtime with the given store, not opened, and the plugins.
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
            commands = PluginCommands(root, runtime, in_runtime, {})
            code: Any = invoke(root, shlex.split(arguments), commands.explain)
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdin = stdin
    if isinstance(code, str):  # as Python itself does
        errors.write(f"{code}\n")
        code = 1
    return CliResult(code or 0, out.getvalue(), errors.getvalue())
