"""Startup and shutdown hooks, and the synchronous ``register_*`` hooks."""

# Specs have no body, only a docstring.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..parts import Check, Job, Reviewer, Route
from .kinds import MaybeAwaitable, spec

if TYPE_CHECKING:
    from ..channels import Channel
    from ..host import Host
    from ..tools import Tool


class RegisterCli(Protocol):
    """Registers ``hookline NAME``: a function with typed parameters, or a Typer app."""

    def __call__(self, name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
        """Add a command; a space in ``name`` puts it in a group.

        An ``async def`` command, alone or in a Typer app, runs with the store open and the plugins
        set up. A ``def`` command must not rely on ``setup``, and has no ``host.storage``.

        Raises:
            ValueError: the name is taken.
        """


class BootHooks:
    """Hooks that are called once per process, or when their registrations are needed.

    They do not send signals.
    """

    @spec("observe", 30)
    def setup(self, host: Host) -> MaybeAwaitable[None]:
        """When the process starts, after the plugin was registered; the place for heavy imports.

        If it raises, all of the plugin's registrations are undone and its state is ``failed``, with
        the reason.
        """

    @spec("observe", 30)
    def teardown(self, host: Host) -> MaybeAwaitable[None]:
        """When the process ends or the plugin is switched off, in reverse order.

        Called only if ``setup`` succeeded. Core cancels the plugin's tasks afterwards and removes
        its signals and services.
        """

    @spec("collect", 5, sync=True)
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """At startup, for tools known only at run time; otherwise ``@tool`` on a method is enough.

        A tool whose name another plugin already uses is refused, and its plugin fails. ``register``
        may be kept for ``deferred`` tools: one that is registered later can be called at once, and
        replaces the plugin's deferred tool of its name.
        """

    @spec("collect", 5, sync=True)
    def register_cli(self, register: RegisterCli) -> None:
        """When a command is not found, or all are listed, before ``setup``.

        For commands that are known only at run time: ``register(name, command)``. All others are
        entry points (:mod:`hookline_hookspecs.cli`), which are found without importing the plugin.
        The plugins of the standard set are not called. A name that is already taken is refused,
        with a warning that names both plugins.
        """

    @spec("collect", 5, sync=True)
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        """At startup, for the channels through which people reach the agent."""

    @spec("collect", 5, sync=True, registers=Route)
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """At startup, for HTTP routes that a web plugin serves."""

    @spec("collect", 5, sync=True, registers=Check)
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """When ``hookline doctor`` runs, for its checks."""

    @spec("collect", 5, sync=True, registers=Job)
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """When the plugin ``jobs`` looks for due work, for periodic jobs."""

    @spec("collect", 5, sync=True, registers=Reviewer)
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """After each turn, for parts of the background review (plugin ``review``)."""
