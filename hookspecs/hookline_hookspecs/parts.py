"""What a plugin registers besides tools: commands, checks, jobs, routes and reviewers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .host import Context
    from .questions import Question
    from .turns import Session

F = TypeVar("F", bound="Callable[[Any, Any, str], CommandReply | Awaitable[CommandReply]]")
COMMAND_MARK = "hookline_command"
_TIME_OF_DAY = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_COMMAND_NAME = re.compile(r"/[^\W\d_][\w:.-]*")

CommandReply: TypeAlias = "str | Question | None"
Completions: TypeAlias = Callable[[str, str], "Awaitable[Sequence[tuple[str, str]]]"]
Audience: TypeAlias = Literal["everyone", "turn", "session", "admins", "operator"]
"""Who may use a slash command, from the widest to the narrowest; see :class:`Command`."""
CommandRun: TypeAlias = Callable[["Context", str], "CommandReply | Awaitable[CommandReply]"]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command, available on every channel.

    ``run(ctx, args)`` receives the rest of the line and returns the answer, or None for no answer.
    If it returns a :class:`Question`, its text is shown unchanged and its choices as buttons, on
    channels that have them. An ``immediate`` command runs even during a turn; others wait until
    the turn ends. ``category`` is the heading under which ``/help`` shows it; the plugin's name by
    default. ``complete(session_id, typed)`` returns ``(argument, description)`` pairs for a channel
    that can complete what a person types. ``source`` says where the command comes from, for help
    and completion, such as ``bundle shop``; by default it is the plugin.

    ``audience`` says who may use it. In a group, which shares one session:

    - ``everyone``: all who may write there. For commands that only read, or check permission
      themselves.
    - ``turn``: the person who started the running turn, or the last one if none runs. For
      commands that stop or change a turn.
    - ``session``: the person who began the session, while no turn of another person is running or
      queued. For commands that change the session.
    - ``admins``: admins. The default.

    Admins may use all of these everywhere. In the terminal and in private chats everyone may.
    ``operator`` is different: the command works only in the terminal and in an admin's private
    chat.

    ``channel`` names the only channel where it works, such as ``terminal``; others do not offer it.
    """

    name: str
    help: str
    run: CommandRun
    aliases: tuple[str, ...] = ()
    immediate: bool = False
    audience: Audience = "admins"
    category: str = ""
    complete: Completions | None = None
    channel: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        _check_command_name(self.name, *self.aliases)


def command(
    name: str,
    *,
    audience: Audience = "admins",
    aliases: tuple[str, ...] = (),
    immediate: bool = False,
    category: str = "",
    complete: Callable[..., Any] | None = None,
    channel: str = "",
) -> Callable[[F], F]:
    """Make a plugin's method ``(self, ctx, args) -> str | None`` a slash command.

    The first line of its docstring is the help text. ``complete`` is another method of the plugin;
    the other options are those of :class:`Command`.

    Raises:
        ValueError: the name or an alias is not a slash and a word.
    """
    _check_command_name(name, *aliases)

    def mark(function: F) -> F:
        options = {"aliases": aliases, "immediate": immediate, "audience": audience}
        options |= {"category": category, "complete": complete, "channel": channel}
        setattr(function, COMMAND_MARK, (name, options))
        return function

    return mark


def _check_command_name(*names: str) -> None:
    for name in names:
        if not (isinstance(name, str) and _COMMAND_NAME.fullmatch(name)):
            raise ValueError(
                f"{name!r} is not a slash command: "
                "write a slash, a letter, then letters, digits, _ or -, such as /standup"
            )


def is_command(text: str) -> bool:
    """Return True for a slash command such as ``/help``; False for a path such as ``/etc``."""
    first = text.strip().split(None, 1)[0] if text.strip() else ""
    return first.startswith("/") and first[1:2].isalpha() and "/" not in first[1:]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check. ``fix`` says how to fix the problem; a ``hint`` is not a failure."""

    ok: bool
    detail: str
    fix: str = ""
    hint: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A check of ``hookline doctor``. ``run`` returns a :class:`CheckResult` within 5 seconds.

    A ``run`` that goes online has a parameter ``offline``, True with ``--offline``; it then
    checks what it can without the network.
    """

    name: str
    run: Callable[[], CheckResult | Awaitable[CheckResult]]


@dataclass(frozen=True, slots=True)
class Job:
    """Periodic background work: ``every`` so many seconds, or ``at`` a time of day.

    With ``every``, it runs that many seconds after its last start in any process of this home.
    With ``at``, such as ``"03:30"``, it runs once a day as soon as that time has passed on the
    machine's clock. ``at_start`` also runs it once when a process starts.

    Raises:
        ValueError: ``every`` is not positive, ``at`` is not a time, or both or none are given.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    every: float | None = None
    at_start: bool = False
    at: str | None = None

    def __post_init__(self) -> None:
        if (self.every is None) == (self.at is None):
            raise ValueError(f"job {self.name!r}: give it either `every` or `at`")
        if self.every is not None and not self.every > 0:
            raise ValueError(
                f"job {self.name!r}: every={self.every!r}; write the seconds between two runs, "
                "more than 0"
            )
        if self.at is not None and not _TIME_OF_DAY.fullmatch(self.at):
            raise ValueError(f"job {self.name!r}: at={self.at!r}; write a time such as '03:30'")


@dataclass(frozen=True, slots=True)
class Page:
    """A route's place in the navigation of a web interface.

    ``section`` groups pages; ``order`` sorts the pages of a section, smallest first.
    """

    title: str
    section: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """An HTTP route for a web server.

    Attributes:
        method: an HTTP method such as ``GET``; ``*`` mounts ``handler`` as an ASGI application.
        path: the path below the plugin's ``/NAME``, with ``{parameters}``.
        handler: a Starlette endpoint, ``handler(request)``; a plain function runs in a thread.
        auth: who may call it: the ``operator``, any logged-in ``person``, a client with an API
            ``key``, or ``none`` if the handler does its own authentication.
        page: its place in the navigation, if it is a page.
        max_bytes: the maximum size of the request body; a larger one is refused with status 413.
        log: what a person did with it, in the log of changes: ``switched off plugin {name}``, with
            the parameters of its path. Empty shows the method and the path.
    """

    method: str
    path: str
    handler: Callable[..., Any]
    auth: Literal["operator", "person", "key", "none"] = "operator"
    page: Page | None = None
    max_bytes: int = 1_000_000
    log: str = ""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A part of the background review, which runs when any reviewer is due.

    A reviewer is due after a turn for which ``due(ctx)`` returns True. If it has thresholds, one
    of them must be reached as well:

    - ``turns`` messages of a person, or ``iterations`` responses with tool calls, since one of
      its writing ``tools`` was last used;
    - at the end of a session, ``at_end`` messages that were not reviewed.

    When any reviewer is due, a copy of the session receives the ``instruction`` of every reviewer
    with new turns (those for which ``due`` returned True) and may call their ``tools``, at most
    ``max_calls`` times. A reviewer that does its own work has ``run(session)``, which is called as
    well, and needs no instruction.
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
