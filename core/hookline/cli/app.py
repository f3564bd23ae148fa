"""Builds the command line and turns results into exit codes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs.errors import ConfigError

from hookline.home import choose_profile, find_home

from .plugin_commands import STORE_CLOSED, Explain, PluginCommands, invoke
from .shared import USAGE, err, own_process, quiet_logging, unshown_config_errors, with_runtime
from .store_commands import copy_store, migrate_store

if TYPE_CHECKING:
    from hookline.config import Loaded

ALWAYS = {"acp", "backup", "config", "doctor", "init", "mcp serve", "migrate", "plugins", "profile", "web"}
"""Commands that are there whatever the config says: they help with a wrong one, or say what is off."""

app = typer.Typer(
    help="A self-hosted agent runtime; alone, it opens a chat. Every command takes --home DIR (default ~/.hookline), "
    "and -p PROFILE before its name.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context, version: Annotated[bool, typer.Option("--version", "-V", help="Show the version.")] = False
) -> None:
    """Chat on a terminal; otherwise show this help."""
    if version:
        from hookline import __version__

        typer.echo(f"hookline {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


store = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Copy the store.")
store.command("copy")(copy_store)
app.add_typer(store, name="store")
app.command("migrate-store")(migrate_store)


def run(arguments: Sequence[str]) -> None:
    """Run ``hookline`` with these arguments and exit."""
    # What the locale cannot show must not keep an answer from being printed; a stream of tests cannot be told.
    getattr(sys.stdout, "reconfigure", dict)(errors="replace")
    rest = _take_home(list(arguments))
    if not rest and sys.stdin.isatty() and sys.stdout.isatty():
        rest = ["chat"]
    own_process("admit", rest)
    own_process("admit", rest, service="person")
    try:
        root, explain = _with_plugins([word for word in rest if not word.startswith("-")])
    except ConfigError as broken:  # not even the defaults can be loaded
        err(f"hookline: {broken}")
        raise SystemExit(USAGE) from None
    try:
        code = invoke(root, rest, explain)
    finally:
        for error in unshown_config_errors:
            err(f"hookline: {error}")
    raise SystemExit(code)


def _has_command(root: Any, words: Sequence[str]) -> bool:
    """Return whether ``words`` begin with a command of ``root`` or of one of its groups."""
    for word in words:
        root = getattr(root, "commands", {word: root}).get(word)
    return root is not None and not hasattr(root, "commands")


def _take_home(arguments: list[str]) -> list[str]:
    """Remove ``--home DIR``, which may be anywhere before ``--``, and a first ``-p PROFILE``; apply both."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest: list[str] = []
    words, profile = iter(arguments[:end]), ""
    for word in words:
        option, equals, value = word.partition("=")
        if option != "--home" and (option not in ("-p", "--profile") or rest):
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value:
            err(f"hookline: {option} needs a {'folder' if option == '--home' else 'name'}")
            raise SystemExit(USAGE)
        if option == "--home":
            os.environ["HOOKLINE_HOME"] = value
            os.environ.pop("HOOKLINE_PROFILE", None)
        else:
            profile = value
    try:
        choose_profile(profile)
    except LookupError as error:
        if profile or rest[:1] != ["profile"]:  # this one mends it
            err(f"hookline: {error.args[0]}")
            raise SystemExit(USAGE) from None
    return rest + arguments[end:]


def _with_plugins(words: Sequence[str]) -> tuple[Any, Explain]:
    """Return the command line with the plugins' commands, and what explains a missing one.

    For a command that one of Hookline's own plugins provides, no other plugin is imported, and for
    the help none of them. If the config is invalid, the commands of the standard set are available.
    """
    from hookline.config import PluginEntry, load, plugin_commands

    standard = plugin_commands()
    owner = {plugin for plugin, names in standard.items() if {*words[:1], " ".join(words[:2])} & set(names)}
    try:
        loaded = load(find_home(), os.environ)
    except ConfigError as error:
        if owner not in ({"configure"}, {"terminal"}):  # these report the error themselves, or correct it
            unshown_config_errors.append(error)
        loaded = load(Path(__file__).parent, {})  # the defaults: this folder has no config or .env
    for name in sorted(owner) if ALWAYS & {*words[:1], " ".join(words[:2])} else ():
        loaded.plugins[name] = PluginEntry(name, standard=True, for_command=name not in loaded.plugins)
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    with suppress(OSError):  # a command that opens the home reports the error
        if find_home().exists():
            quiet_logging()
    if owner and words[0] != "completion":  # this one describes the commands of all
        root, explain = _registered(loaded, set(loaded.plugins) - owner, {})
        if _has_command(root, words):
            return root, explain
    leave = {plugin for plugin, entry in loaded.plugins.items() if entry.standard or plugin in standard}
    return _registered(loaded, leave - set(standard), {}) if words else _registered(loaded, leave, standard)


def _registered(loaded: Loaded, leave: Set[str], known: Mapping[str, Any]) -> tuple[Any, Explain]:
    """Return the command line with the commands of the plugins not in ``leave``, and names for the ``known`` ones."""
    from hookline.runtime import Runtime
    from hookline.store.absent import AbsentStore

    root: Any = typer.main.get_command(app)
    runtime = Runtime(loaded, find_home(), store=AbsentStore(STORE_CLOSED))
    runtime.plugins.load(leave)
    return root, PluginCommands(root, runtime, with_runtime, known).explain
