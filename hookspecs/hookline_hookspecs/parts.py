"""What a plugin registers beside tools: commands, checks, jobs, routes and reviewers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .host import Context

F = TypeVar("F", bound=Callable[..., Any])
COMMAND_MARK = "hookline_command"

CommandRun: TypeAlias = Callable[["Context", str], "str | Awaitable[str | None] | None"]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command, on every channel.

    ``run(ctx, args)`` receives the rest of the line and returns the answer, or None for silence.
    An ``immediate`` command is run while a turn is under way; others wait for its end.
    ``operator_only``: for the terminal and admins.
    """

    name: str
    help: str
    run: CommandRun
    aliases: tuple[str, ...] = ()
    immediate: bool = False
    operator_only: bool = False


def command(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    immediate: bool = False,
    operator_only: bool = False,
) -> Callable[[F], F]:
    """Make a plugin's method ``(self, ctx, args) -> str | None`` a slash command.

    The first line of its docstring is its help.
    """

    def mark(function: F) -> F:
        options = {"aliases": aliases, "immediate": immediate, "operator_only": operator_only}
        setattr(function, COMMAND_MARK, (name, options))
        return function

    return mark


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found. ``fix`` tells how to mend it; a ``hint`` is no failure."""

    ok: bool
    detail: str
    fix: str = ""
    hint: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A check of ``hookline doctor``. ``run`` returns a :class:`CheckResult`, soon (5 s)."""

    name: str
    run: Callable[[], CheckResult | Awaitable[CheckResult]]


@dataclass(frozen=True, slots=True)
class Job:
    """Background work, run every ``every`` seconds while a long-running process is up."""

    name: str
    run: Callable[[], Awaitable[None]]
    every: float
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """An HTTP route for the web server. ``handler(request)`` is a Starlette endpoint."""

    method: str
    path: str
    handler: Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A part of the background review.

    ``instruction`` is what the fork is asked, ``tools`` the names it may call, ``due(ctx)`` says
    whether there is something new to review after this turn.
    """

    name: str
    instruction: str
    tools: tuple[str, ...]
    due: Callable[[Context], bool | Awaitable[bool]]
    max_calls: int = 8
