"""Hooks of start and end, and the synchronous ``register_*`` hooks."""

# Specs have no body; what they say stands in their docstrings.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..parts import Check, Job, Reviewer, Route
from .kinds import MaybeAwaitable, spec

if TYPE_CHECKING:
    from ..host import Channel, Host
    from ..parts import Command
    from ..tools import Tool

T = TypeVar("T")


class OpenRuntime(Protocol):
    """Starts Hookline from a ``def`` command; ``obj`` of the ``typer.Context`` it takes."""

    def __call__(self, work: Callable[[Host], Coroutine[Any, Any, T]], **settings: object) -> T:
        """Await ``work(host)`` with the store open and the plugins set up.

        ``settings`` win over config.yaml; None leaves it as it is. Raises ``CommandError`` where
        Hookline cannot start, the plugin is not on, or ``work`` raises a ``HooklineError``.
        """


class RegisterCli(Protocol):
    """Registers ``hookline NAME``: a function with typed parameters, or a Typer app."""

    def __call__(self, name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
        """Add a command; a space in ``name`` puts it into a group.

        An ``async def`` command, alone or in a Typer app, runs with the store open and the plugins
        set up. A ``def`` command runs before ``setup`` and cannot use ``host.storage``; the ``obj``
        of its ``typer.Context`` is an :class:`OpenRuntime`.

        Raises:
            ValueError: the name belongs to core or to another plugin.
        """


class BootHooks:
    """Hooks that are called once in a process, or when their registrations are needed.

    They send no signals.
    """

    @spec("observe", 30)
    def setup(self, host: Host) -> MaybeAwaitable[None]:
        """When the process starts, after the plugin was registered; the place for heavy imports.

        If it raises, everything of the plugin is taken back, and it is ``failed`` with the reason.
        """

    @spec("observe", 30, reverse=True)
    def teardown(self, host: Host) -> MaybeAwaitable[None]:
        """When the process ends or the plugin is switched off, in reverse order.

        Called only if ``setup`` succeeded. Core cancels the plugin's tasks afterwards and removes
        its signals and services.
        """

    @spec("collect", 5, sync=True)
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """At start, for tools known only at run time; ``@tool`` on a method is enough otherwise.

        A tool with the name of another plugin's is refused, and its plugin fails.
        """

    @spec("collect", 5, sync=True)
    def register_commands(self, register: Callable[[Command], None]) -> None:
        """At start, for slash commands; ``@command`` on a method is enough otherwise."""

    @spec("collect", 5, sync=True)
    def register_cli(self, register: RegisterCli) -> None:
        """When the command line is built, before ``setup``: ``register(name, command)``.

        ``command`` is a function with typed parameters or a Typer app; a space in ``name`` puts it
        into a group, ``plugins NAME`` into ``hookline plugins``. A name that is taken is refused,
        and both plugins are named in a warning.
        """

    @spec("collect", 5, sync=True)
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """At start, for the channels by which people reach the agent."""

    @spec("collect", 5, sync=True, registers=Route)
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """At start, for HTTP routes that a web plugin serves."""

    @spec("collect", 5, sync=True, registers=Check)
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """When ``hookline doctor`` runs."""

    @spec("collect", 5, sync=True, registers=Job)
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """When the plugin ``jobs`` looks for due work, for work that repeats."""

    @spec("collect", 5, sync=True, registers=Reviewer)
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """After each turn, for parts of the background review (plugin ``review``)."""
