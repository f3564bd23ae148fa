"""Builds the command line and turns its ends into exit codes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from . import configuration, doctor, plugins, run_command
from .plugin_commands import STORE_CLOSED, PluginCommands, invoke
from .shared import err, home, load_config, quiet_logging, stop, with_runtime

app = typer.Typer(
    name="hookline",
    help="A self-hosted agent runtime. Every command takes --home DIR (default ~/.hookline).",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version.")] = False,
) -> None:
    """Chat on a terminal, else help."""
    if version:
        from hookline import __version__

        typer.echo(f"hookline {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command("run")(run_command.run)
app.command("doctor")(doctor.doctor)
app.add_typer(plugins.app, name="plugins")
app.add_typer(configuration.app, name="config")


def run(arguments: Sequence[str]) -> None:
    """Run ``hookline`` with these arguments and exit."""
    rest = _take_home(list(arguments))
    if not rest and sys.stdin.isatty() and sys.stdout.isatty():
        rest = ["chat"]
    root: Any = typer.main.get_command(app)
    words = [word for word in rest if not word.startswith("-")]
    own = words[:1] and words[0] in root.commands
    whole = words[:1] != ["plugins"] or set(words[1:2]) & set(root.commands["plugins"].commands)
    explain = None
    if not (own and whole) and rest != ["--version"]:
        explain = _with_plugins(root).explain
    raise SystemExit(invoke(root, rest, explain))


def _take_home(arguments: list[str]) -> list[str]:
    """``--home DIR`` may stand anywhere before ``--``."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest, words = [], iter(arguments[:end])
    for word in words:
        option, equals, value = word.partition("=")
        if option != "--home":
            rest.append(word)
            continue
        folder = value if equals else next(words, "")
        if not folder:
            stop("--home needs a folder")
        os.environ["HOOKLINE_HOME"] = folder
    return rest + arguments[end:]


def _with_plugins(root: Any) -> PluginCommands:
    """Add the plugins' commands. Where config cannot be used, those of the standard set."""
    from hookline.config import ConfigError, load, plugin_commands
    from hookline.runtime import Runtime
    from hookline.store.absent import AbsentStore

    try:
        loaded = load(home(), os.environ)
    except ConfigError as error:
        err(f"hookline: {error}")
        loaded = load(home(), {}, text="")
    if loaded.path.parent.exists():
        quiet_logging()
    else:
        logging.getLogger("hookline").addHandler(logging.NullHandler())
    runtime = Runtime(loaded, home(), store=AbsentStore(STORE_CLOSED))
    runtime.plugins.load(set(loaded.plugins) - set(plugin_commands()))

    def in_runtime(work: Any, model: Any) -> Any:
        return with_runtime(work, load_config({"model": model}))

    return PluginCommands(root, runtime, in_runtime)
