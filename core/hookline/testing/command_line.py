"""Runs commands of the command line in a test as the program does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hookline_hookspecs import CommandError, Configuration
from hookline_hookspecs.cli import InstalledCommand

from hookline.cli.app import run_command
from hookline.cli.build import build_command
from hookline.cli.catalog import Catalog, CommandEntry, installed_commands
from hookline.cli.output import FAILED, err
from hookline.cli.registered_commands import register_commands

if TYPE_CHECKING:
    from hookline.runtime import Runtime

    from .harness import Harness

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CliResult:
    """The result of a command line."""

    exit_code: int
    stdout: str
    stderr: str


class HarnessCommandLine:
    """Implements ``CommandLine`` with the harness's runtime, which is open."""

    def __init__(self, harness: Harness, commands: Mapping[str, Any]) -> None:
        runtime = harness.runtime
        self.running: CommandEntry | None = None
        self._harness = harness
        self._runtime = runtime
        plugins = runtime.engine.loaded.plugins
        entries = [
            # new entries, because a built command keeps the groups of an earlier test
            CommandEntry(command.name, command.value, command.plugin)
            for command in installed_commands()
            if command.plugin in plugins or not command.plugin
        ]
        entries += _command_entries(commands, next(iter(harness.states()), ""))
        self.catalog = Catalog(
            entries, plugins, lambda catalog: register_commands(catalog, runtime, self), err
        )

    @property
    def home(self) -> Path:
        """The home folder."""
        return self._harness.home

    @property
    def is_strict(self) -> bool:
        """True if errors of plugins are raised."""
        return self._runtime.engine.strict

    @property
    def configuration(self) -> Configuration:
        """The config."""
        found: Configuration = self._runtime.engine.services[Configuration]
        return found

    @property
    def commands(self) -> Sequence[InstalledCommand]:
        """Every command."""
        return self.catalog.describe()

    def plugin(self) -> Any:
        """The running command's plugin, which is set up here."""
        name = self.running.plugin if self.running is not None else ""
        status = self._runtime.plugins.statuses.get(name)
        if status is None or status.plugin is None:
            reason = status.reason if status is not None else "the harness does not have it"
            raise CommandError(f"plugin {name} is not on: {reason}", FAILED)
        return status.plugin

    def run(self, work: Callable[[Any], Coroutine[Any, Any, T]], **_settings: object) -> T:
        """Await ``work`` in the harness's event loop; the settings are those of the harness."""
        plugin = self.plugin()
        return self._finish(lambda: work(plugin))

    def open(self, work: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
        """Await ``work`` with the harness's runtime, for a command of core."""
        return self._finish(lambda: work(self._runtime))

    def _finish(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        ended: list[SystemExit] = []

        async def finished() -> T | None:
            result = None
            try:
                result = await work()
            except SystemExit as error:  # it would also end the event loop
                ended.append(error)
            await self._runtime.finish_background(30.0)
            return result

        result = self._harness.run(finished())
        if ended:
            raise ended[0]
        return result  # type: ignore[return-value]


def run_line(
    harness: Harness, arguments: str, stdin_text: str, commands: Mapping[str, Any]
) -> CliResult:
    """Run ``hookline ARGUMENTS`` with ``stdin_text`` on standard input."""
    out, errors, stdin = StringIO(), StringIO(), sys.stdin
    with redirect_stdout(out), redirect_stderr(errors):
        sys.stdin = StringIO(stdin_text)
        try:
            code: Any = run_command(shlex.split(arguments), HarnessCommandLine(harness, commands))
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdin = stdin
    if isinstance(code, str):  # Python itself treats it the same way
        errors.write(f"{code}\n")
        code = 1
    return CliResult(code or 0, out.getvalue(), errors.getvalue())


def _command_entries(commands: Mapping[str, Any], plugin: str) -> list[CommandEntry]:
    """Entries for the commands that a test passes; they belong to ``plugin``."""
    return [
        CommandEntry(name, "", plugin, build_command(name.split()[-1], command, ""))
        for name, command in commands.items()
    ]
