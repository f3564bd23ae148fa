"""Builds the command line and turns its ends into exit codes."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial, wraps
from typing import Annotated, Any

import typer

from . import configuration, doctor, run_command
from . import plugins as plugin_commands
from .run_command import REVIEW_SECONDS
from .shared import FAILED, INTERRUPTED, USAGE, err, stop

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
app.add_typer(plugin_commands.app, name="plugins")
app.add_typer(configuration.app, name="config")
OWN = frozenset({"run", "doctor", "plugins", "config"})
_groups = {"plugins": plugin_commands.app}
"""The groups that plugins may add commands to, by name; others are made as they are named."""


def run(arguments: Sequence[str]) -> None:
    """Run ``hookline`` with these arguments and exit."""
    rest = _take_home(list(arguments))
    if not rest and sys.stdin.isatty() and sys.stdout.isatty():
        rest = ["chat"]
    words = [word for word in rest if not word.startswith("-")]
    own = words[:1] and words[0] in OWN
    whole = words[:1] != ["plugins"] or (words[1:2] and words[1] in plugin_commands.OWN)
    if not (own and whole) and rest != ["--version"]:
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
    from hookline.config import ConfigError, load, without_commands
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
    runtime.plugins.load(without_commands())

    runtime.bus.gather("register_cli", lambda plugin: partial(_add, plugin))


def _add(plugin: str, name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
    group, _, last = name.rpartition(" ")
    taken = last in plugin_commands.OWN if group == "plugins" else group in OWN
    if name in OWN or taken:
        raise ValueError(f"hookline {name} is not free for a plugin's command")
    if not callable(command):
        raise ValueError(f"hookline {name} is {command!r}, which cannot be called")
    parent = _group(group) if group else app
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=last, help=help or None)
    elif inspect.iscoroutinefunction(command):
        parent.command(last, help=help or None)(_in_runtime(plugin, name, command))
    else:
        parent.command(last, help=help or None)(command)


def _group(name: str) -> typer.Typer:
    if name not in _groups:
        made = _groups[name] = typer.Typer(no_args_is_help=True)
        app.add_typer(made, name=name, help=f"Commands for {name}.")
    return _groups[name]


def _in_runtime(plugin: str, name: str, command: Any) -> Any:
    """An ``async`` command as a plain one: what the plugin registers once it is set up.

    An option ``model`` is the config's ``model`` for this call.
    """
    from .shared import load_config, with_runtime

    @wraps(command)
    def plain(**options: Any) -> None:
        async def work(runtime: Any) -> None:
            live: dict[str, Any] = {}
            loading = runtime.plugins.loadings[plugin]
            if loading.plugin is None:
                stop(f"plugin {plugin} is not on: {loading.reason}", FAILED)
            loading.plugin.register_cli(lambda name, found, **_rest: live.update({name: found}))
            await live[name](**options)
            await runtime.finish_background(REVIEW_SECONDS)

        with_runtime(work, load_config({"model": options.get("model")}))

    return plain
