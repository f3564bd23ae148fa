"""Builds the command line and turns its ends into exit codes."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from . import configuration, inspection, run_command, sessions
from . import plugins as plugin_commands
from .shared import INTERRUPTED, USAGE, err

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
        if sys.stdin.isatty() and sys.stdout.isatty():
            run_command.chat()
        else:
            typer.echo(ctx.get_help())


app.command("run")(run_command.run)
app.command("chat")(run_command.chat)
app.command("gateway")(run_command.gateway)
app.command("hooks")(inspection.hooks)
app.command("prompt")(inspection.prompt)
app.command("doctor")(inspection.doctor)
app.add_typer(plugin_commands.app, name="plugins")
app.add_typer(configuration.app, name="config")
app.add_typer(sessions.app, name="sessions")
OWN = frozenset(
    {"run", "chat", "gateway", "hooks", "prompt", "doctor", "plugins", "config", "sessions"}
)


def run(arguments: Sequence[str]) -> None:
    """Run ``hookline`` with these arguments and exit."""
    rest = _take_home(list(arguments))
    first = next((word for word in rest if not word.startswith("-")), None)
    if first not in OWN and rest != ["--version"]:
        _add_plugin_commands()
    try:
        code = app(rest, standalone_mode=False)
    except Exception as error:
        code = _told(error)
    raise SystemExit(code if isinstance(code, int) else 0)


def _told(error: Exception) -> int:
    """A usage error's sentence; Typer brings its own Click, so it is known by its methods."""
    show = getattr(error, "show", None)
    if callable(show):
        show()
        return int(getattr(error, "exit_code", USAGE))
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    raise error


def _take_home(arguments: list[str]) -> list[str]:
    """``--home DIR`` may stand anywhere before ``--``."""
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*rest, word, *words]
        if word == "--home":
            value = next(words, None)
            if not value:
                err("hookline: --home needs a folder")
                raise SystemExit(USAGE)
            os.environ["HOOKLINE_HOME"] = value
        elif word.startswith("--home="):
            os.environ["HOOKLINE_HOME"] = word.removeprefix("--home=")
        else:
            rest.append(word)
    return rest


def _add_plugin_commands() -> None:
    """Commands from plugins (``register_cli``). Those that are ``async`` run in a runtime."""
    from hookline.config import ConfigError, load
    from hookline.runtime import Runtime

    from .shared import home, quiet_logging

    try:
        loaded = load(home(), os.environ)
    except ConfigError as error:
        err(f"hookline: {error}")
        return
    if loaded.path.parent.exists():
        quiet_logging()
    else:
        logging.getLogger("hookline").addHandler(logging.NullHandler())
    runtime = Runtime(loaded, home())
    runtime.plugins.load()

    def adder(plugin: str) -> Any:
        def register(name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
            _add(plugin, name, command, help)

        return register

    runtime.bus.gather("register_cli", adder)


def _add(plugin: str, name: str, command: Any, text: str) -> None:
    if name in OWN:
        raise ValueError(f"hookline {name} is a command of core")
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, help=text or None)
    elif inspect.iscoroutinefunction(command):
        app.command(name, help=text or None)(_in_runtime(plugin, command))
    else:
        app.command(name, help=text or None)(command)


def _in_runtime(plugin: str, command: Any) -> Any:
    """An ``async`` command as a plain one: the method of the plugin that is set up."""
    import functools

    from .shared import with_runtime

    @functools.wraps(command)
    def plain(**options: Any) -> None:
        async def work(runtime: Any) -> None:
            loading = runtime.plugins.loadings.get(plugin)
            live = getattr(loading.plugin, command.__name__, command) if loading else command
            await live(**options)

        with_runtime(work)

    return plain
