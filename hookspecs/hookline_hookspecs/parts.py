"""What a plugin registers beside tools: commands, checks, jobs, routes and reviewers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .events import Question, Session
    from .host import Context

F = TypeVar("F", bound="Callable[[Any, Any, str], Said | Awaitable[Said]]")
COMMAND_MARK = "hookline_command"

Said: TypeAlias = "str | Question | None"
CommandRun: TypeAlias = Callable[["Context", str], "Said | Awaitable[Said]"]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command, on every channel.

    ``run(ctx, args)`` receives the rest of the line and returns the answer, or None for silence.
    The choices of a :class:`Question` are shown as buttons where a channel has some; its text is
    shown as it is.
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
    """Background work, run when ``every`` seconds have passed since it was begun last, by any
    process on the home; ``at_start``: once in each process too."""

    name: str
    run: Callable[[], Awaitable[None]]
    every: float
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A route's place in the navigation of a web interface.

    ``section`` groups pages, ``order`` sorts them within it, the smallest first.
    """

    title: str
    section: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """An HTTP route for a web server.

    Attributes:
        method: such as ``GET``; ``*`` mounts an ASGI application as ``handler``.
        path: under ``/NAME`` of the plugin, with ``{parameters}``.
        handler: a Starlette endpoint, ``handler(request)``.
        auth: who may call it: the ``operator``, any ``person`` who is logged in, whoever has an
            API ``key``, or ``none``, then the handler judges by itself.
        page: its place in the navigation, if it is a page.
        max_bytes: the largest request body; a larger one is refused with 413.
    """

    method: str
    path: str
    handler: Callable[..., Any]
    auth: Literal["operator", "person", "key", "none"] = "operator"
    page: Page | None = None
    max_bytes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A part of the background review, which runs when any reviewer is due.

    It is due after a turn of which ``due(ctx)`` says so. Where thresholds are given one of them
    must be reached as well: ``turns`` messages of a person, or ``iterations`` responses that call
    tools, since one of its ``tools`` that writes was used; or, at the end of a session, ``at_end``
    messages that were not reviewed. When any reviewer is due, a copy of the session is asked the
    ``instruction`` of every reviewer that has something new; it may call their ``tools``, at most
    ``max_calls`` times. ``run(session)`` is called as well, of a reviewer that works by itself; it
    needs no instruction.
    """

    name: str
    instruction: str = ""
    tools: tuple[str, ...] = ()
    due: Callable[[Context], bool | Awaitable[bool]] | None = None
    turns: int | None = None
    iterations: int | None = None
    at_end: int | None = None
    run: Callable[[Session], Awaitable[None]] | None = None
    max_calls: int = 8
