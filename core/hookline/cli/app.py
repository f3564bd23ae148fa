"""``hookline``: reads the options of every command, runs it, and returns its exit code."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Protocol

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.cli import CommandLine, current
from hookline_hookspecs.errors import ConfigError

from hookline.bus.implementation import describe
from hookline.config.plugin_files import add_plugin_file
from hookline.home import choose_profile, find_home
from hookline.log import log_to_home

from .build import CommandGroup, LazyCommands, is_group
from .catalog import Catalog, CommandEntry, not_installed
from .command_guards import check_command
from .command_line import CoreCommandLine
from .output import FAILED, INTERRUPTED, USAGE, err
from .standard_streams import missing_part, unwritable_output, written_output

log = logging.getLogger("hookline.cli")
_BEFORE_THE_COMMAND = {"-p": "name", "--profile": "name", "--plugin": "file"}
"""The options that stand before the command, with what each needs."""

app = typer.Typer(
    cls=CommandGroup,
    help="A self-hosted agent runtime. Without a command, it opens a chat. "
    "Every command accepts --home DIR (default: ~/.hookline). Put -p PROFILE and --plugin FILE, "
    "which adds a plugin from a file, before the command.",
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
    """Chat on a terminal; otherwise show this help."""
    if version:
        from hookline import __version__

        typer.echo(f"hookline {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> None:
    """Run ``hookline`` with these arguments and exit."""
    if missing := missing_part():
        err(f"hookline: {missing}")
        raise SystemExit(FAILED)
    try:
        with written_output():
            _run(arguments)
    except OSError as error:
        if (sentence := unwritable_output(error)) is None:
            raise
        err(f"hookline: {sentence}")
        raise SystemExit(FAILED) from None


def _run(arguments: Sequence[str]) -> None:
    # Replace characters that the locale cannot print. Streams in tests have no `reconfigure`.
    getattr(sys.stdout, "reconfigure", dict)(errors="replace")
    words = _take_home(list(arguments))
    if not words and sys.stdin.isatty() and sys.stdout.isatty():
        words = ["chat"]
    try:
        check_command(words)
    except CommandError as refused:
        err(f"hookline: {refused.text}")
        raise
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    with suppress(OSError):  # a command that opens the home reports the error
        if find_home().exists():
            log_to_home()
    try:
        line = CoreCommandLine()
    except ConfigError as broken:  # not even the defaults can be loaded
        err(f"hookline: {broken}")
        raise SystemExit(USAGE) from None
    try:
        code = run_command(words, line)
    finally:
        if line.config_error is not None:
            err(f"hookline: {line.config_error}")
    raise SystemExit(code)


class RunsCommands(CommandLine, Protocol):
    """What :func:`run_command` needs in addition.

    Attributes:
        catalog: the commands.
        running: the command that runs; :func:`run_command` sets it.
        is_strict: True if unexpected errors of a command are raised instead of shown.
    """

    catalog: Catalog
    running: CommandEntry | None

    @property
    def is_strict(self) -> bool: ...


def run_command(words: Sequence[str], line: RunsCommands) -> int:
    """Run the command line ``words``, show errors on stderr and return the exit code.

    Raises:
        SystemExit: the command raised it.
    """

    def select(entry: CommandEntry) -> None:
        line.running = entry

    root: Any = typer.main.get_command(app)
    root.commands = LazyCommands(line.catalog, "", select)
    token = current.set(line)
    try:
        code = _guarded(
            lambda: root.main(list(words), prog_name="hookline", standalone_mode=False), words, line
        )
    except CommandError as error:
        err(f"hookline: {error.text}")
        raise
    finally:
        current.reset(token)
    return code if type(code) is int else 0


def _guarded(call: Callable[[], Any], words: Sequence[str], line: RunsCommands) -> Any:
    """Call ``call``; turn exceptions into exit codes or ``CommandError``s that name the plugin."""
    try:
        return call()
    except HooklineError as error:
        raise CommandError(f"{_where(words, line)}: {error}", FAILED) from None
    except Exception as error:
        if unwritable_output(error) is not None:
            raise
        # Typer bundles its own Click and a plugin may use another: check for methods, not types.
        if callable(getattr(error, "show", None)):
            return _show_usage_error(error, line)
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        if (
            type(error).__module__.partition(".")[0] in ("click", "typer")
            or line.running is None
            or line.is_strict
        ):
            raise
        where = _where(words, line, " failed in")
        log.error("%s", where, exc_info=error)
        hint = "HOOKLINE_STRICT=1 shows the traceback"
        raise CommandError(f"{where}: {describe(error)}; {hint}", FAILED) from None


def _show_usage_error(error: Any, line: RunsCommands) -> int:
    missing = _missing(error)
    if missing:
        _explain_missing(missing, line.catalog)
    vars(error)["message"] = str(getattr(error, "message", "")).removeprefix("Value error, ")
    error.show()
    return int(getattr(error, "exit_code", USAGE))


def _missing(error: Any) -> str:
    """Return the full name of the missing command, if that is the error, or an empty string."""
    found = re.match(r"No such command '([^']+)'", error.format_message())
    return f"{error.ctx.command_path} {found[1]}".removeprefix("hookline ") if found else ""


def _explain_missing(name: str, catalog: Catalog) -> None:
    """Name the plugins that may provide the command: not installed ones, or ones that failed."""
    if plugins := not_installed(name.partition(" ")[0]):
        verb = "is" if len(plugins) == 1 else "are"
        belongs = (
            f"`hookline {name}` belongs to {' and '.join(plugins)}, which {verb} not installed"
        )
        raise CommandError(f"{belongs}. Run `hookline plugins enable {' '.join(plugins)}`.")
    for plugin, reason in catalog.failed.items():
        err(f"hookline: `hookline {name}` may belong to plugin {plugin}, which is not on: {reason}")


def _where(words: Sequence[str], line: RunsCommands, verb: str = ",") -> str:
    """The plugin and the command that ``words`` name, for an error message."""
    if line.running is None:
        return f"`hookline {' '.join(words)}`{verb}".removesuffix(",")
    path = line.running.name.split()
    command = line.running.built
    for word in words[len(path) :]:
        if not is_group(command) or word not in command.commands:
            break
        path.append(word)
        command = command.commands[word]
    return f"plugin {line.running.plugin}{verb} `hookline {' '.join(path)}`"


def _add_plugin_file(path: str) -> None:
    try:
        add_plugin_file(path)
    except ValueError as error:
        err(f"hookline: --plugin: {error}")
        raise SystemExit(USAGE) from None


def _take_home(arguments: list[str]) -> list[str]:
    """Apply and remove ``--home DIR``, anywhere before ``--``, and the options before the command.

    Those are ``-p PROFILE`` and ``--plugin FILE``.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest: list[str] = []
    words, profile = iter(arguments[:end]), ""
    for word in words:
        option, equals, value = word.partition("=")
        if option != "--home" and (option not in _BEFORE_THE_COMMAND or rest):
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value:
            err(f"hookline: {option} needs a {_BEFORE_THE_COMMAND.get(option, 'folder')}")
            raise SystemExit(USAGE)
        if option == "--home":
            os.environ["HOOKLINE_HOME"] = value
            os.environ.pop("HOOKLINE_PROFILE", None)
        elif option == "--plugin":
            _add_plugin_file(value)
        else:
            profile = value
    try:
        choose_profile(profile)
    except LookupError as error:
        if profile or rest[:1] != ["profile"]:  # this command repairs it
            err(f"hookline: {error.args[0]}")
            raise SystemExit(USAGE) from None
    return rest + arguments[end:]
