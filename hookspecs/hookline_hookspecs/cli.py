"""Commands of the command line: ``hookline NAME``.

A command is a function with typed parameters, or a Typer app for a group of commands, with an entry
point in the group ``hookline.commands``. A complete example, for a plugin ``birthdays``:

.. code-block:: toml

    [project.entry-points."hookline.commands"]
    birthdays = "hookline_birthdays.commands:app"

.. code-block:: python

    \"\"\"Keep birthdays.\"\"\"
    import typer
    from hookline_hookspecs.cli import with_plugin
    from hookline_birthdays import Birthdays

    app = typer.Typer(no_args_is_help=True)

    @app.command()
    @with_plugin
    async def add(plugin: Birthdays, name: str, day: str) -> None:
        \"\"\"Store a birthday.\"\"\"
        await plugin.host.storage.kv.set(name, day)

``hookline --help`` shows the first line of the module's docstring, which is read from the file: the
module is imported only when the command runs or its own help is shown. A space in the entry point's
name puts a command into a group, even another plugin's: ``"plugins list"`` belongs to ``hookline
plugins``. A command belongs to the plugin whose entry point is in the same package. While that
plugin is off, the command only says so, unless its module has the line ``WORKS_WHEN_OFF = True``,
for example because it sets the plugin up.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import typing
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from .errors import CommandError

if TYPE_CHECKING:
    from .inspection import Configuration

T = TypeVar("T")
P = TypeVar("P")
Params = ParamSpec("Params")
EXIT_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class InstalledCommand:
    """A command of an installed package.

    Attributes:
        name: its words, such as ``plugins list``.
        plugin: the plugin that it belongs to; empty if its package has none.
        summary: what it does, in one line.
        is_on: False while its plugin is off.
        overrides: other plugins that are on and have a command of this name, which is not used.
    """

    name: str
    plugin: str
    summary: str
    is_on: bool
    overrides: tuple[str, ...] = ()


class CommandLine(Protocol):
    """The running command's access to the rest of Hookline (:func:`command_line`)."""

    @property
    def home(self) -> Path:
        """Hookline's home folder."""

    @property
    def configuration(self) -> Configuration:
        """Reads, checks and describes the config, even if it has errors."""

    @property
    def commands(self) -> Sequence[InstalledCommand]:
        """Every command of the installed packages, in the order of the help."""

    def plugin(self) -> Any:
        """Return the command's plugin as it is before ``setup``, without the store.

        Raises ``CommandError`` if it cannot be used.
        """

    def run(
        self,
        work: Callable[[Any], Coroutine[Any, Any, T]],
        *,
        warns_of_untrusted: bool = True,
        **settings: object,
    ) -> T:
        """Await ``work(plugin)`` with the store open and the plugins set up, and return its result.

        ``settings`` override config.yaml, except those that are None. ``warns_of_untrusted`` is
        False if ``work`` itself shows ``Inspection.untrusted_settings``. Raises ``CommandError`` if
        Hookline cannot start, the plugin is off, or ``work`` raises a ``HooklineError``.
        """


current: ContextVar[CommandLine] = ContextVar("hookline.command_line")
"""Set while a command runs; read by :func:`command_line`."""


def command_line() -> CommandLine:
    """Return the command line that runs the current command.

    Raises:
        RuntimeError: no command is running.
    """
    found = current.get(None)
    if found is None:
        raise RuntimeError("no command of the command line is running")
    return found


@overload
def with_plugin(
    function: Callable[Concatenate[P, Params], Coroutine[Any, Any, T]],
) -> Callable[Params, T]: ...
@overload
def with_plugin(function: Callable[Concatenate[P, Params], T]) -> Callable[Params, T]: ...
def with_plugin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command its plugin as the first argument.

    An ``async def`` runs with the store open and every plugin set up. A ``def`` gets the plugin as
    it is before ``setup``: its settings and ``host.home``, but no storage; it starts faster.

    Call the result without the plugin and do not await it. A command that first checks its options
    is therefore a ``def`` that calls a decorated ``async def``.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    written = {one.name: one.annotation for one in parameters if one.annotation is not one.empty}
    module = getattr(function, "__globals__", {})
    hints = typing.get_type_hints(
        SimpleNamespace(__annotations__=written), module, include_extras=True
    )

    @wraps(function)
    def command(*args: Any, **options: Any) -> Any:
        line = command_line()
        if inspect.iscoroutinefunction(function):
            return line.run(lambda plugin: function(plugin, *args, **options))
        return function(line.plugin(), *args, **options)

    # Typer reads these. The first parameter's type may only be imported for type checkers.
    command.__annotations__ = hints
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(annotation=hints.get(one.name, one.annotation)) for one in parameters]
    )
    return command


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C end the command while it waits for a person.

    Needed wherever a coroutine reads from the terminal: otherwise the event loop handles Ctrl-C,
    but the loop itself is blocked.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # ends the line of the question
        raise
    finally:
        signal.signal(signal.SIGINT, before)


async def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Await ``work``; cancel it on SIGTERM or SIGINT, and return then too."""
    import asyncio

    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    for number in EXIT_SIGNALS:
        with suppress(NotImplementedError, RuntimeError):  # not in the main thread
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in EXIT_SIGNALS:
            with suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(number)


def confirm(question: str) -> bool:
    """Ask a yes-or-no question on the terminal; anything but yes means no. Ctrl-C ends the command.

    Raises:
        CommandError: there is no terminal to ask on; give the command an option ``--yes``.
    """
    if not sys.stdin.isatty():
        raise CommandError(f"{question} There is no terminal to ask on. Add --yes to confirm.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    with interruptible():
        answer = sys.stdin.readline()
    return answer.strip().lower() in ("y", "yes")


def run_hookline(*words: str, input: str = "") -> str:  # noqa: A002
    """Run another command on the same home in a new process and return its output.

    Only for ``def`` commands: while a runtime is open, Hookline refuses commands that change it.

    Args:
        words: the command, such as ``"config", "set", "--", KEY, VALUE``.
        input: the text for its standard input.

    Raises:
        CommandError: it failed; the text is its output on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hookline", *words],
        env=os.environ | {"HOOKLINE_HOME": str(command_line().home)},
        input=input,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise CommandError(done.stderr.strip().removeprefix("hookline: "), 1)
    return done.stdout
