"""The kinds of hooks, and the table to which each spec adds its hook."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import pluggy

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Kind: TypeAlias = Literal["collect", "pipeline", "first", "veto", "gate", "observe", "around"]
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""What a hook returns that may be ``def`` or ``async def``."""

PROJECT = "hookline"
hookimpl = pluggy.HookimplMarker(PROJECT)
_hookspec = pluggy.HookspecMarker(PROJECT)

FAILURE_POLICY: dict[Kind, str] = {
    "collect": "that contribution is skipped",
    "pipeline": "that step is skipped",
    "first": "the next one is asked",
    "veto": "Deny (fails closed)",
    "gate": "Deny (fails closed)",
    "observe": "it is logged",
    "around": "the middleware's fault becomes an error result that names it",
}
COMBINED: dict[Kind, str] = {
    "collect": "all contributions, in order",
    "pipeline": "each sees the previous one's output; None leaves it unchanged",
    "first": "the first answer that is not None wins",
    "veto": "all run; the strictest verdict wins: Deny > Ask > Answer > None",
    "gate": "a pipeline whose steps may also return Deny",
    "observe": "nothing is returned",
    "around": "middleware, nested in order",
}
GUARDS: frozenset[Kind] = frozenset({"veto", "gate"})


@dataclass(frozen=True, slots=True)
class HookSpec:
    """A hook: ``deadline`` in seconds (None = none), ``since`` the API version it came with.

    ``event`` is the name of the last argument. ``background`` hooks run after the reply has left.
    ``sync`` hooks must be ``def``; ``registers`` is the type of what they register, where
    ``host.registered`` lists it. ``reverse`` hooks call the last plugin first. ``asks`` hooks wait
    for a person, so nobody is told that they take long.
    """

    name: str
    kind: Kind
    deadline: float | None
    event: str
    since: tuple[int, int]
    background: bool
    sync: bool
    reverse: bool
    asks: bool
    registers: type | None
    doc: str


HOOKS: dict[str, HookSpec] = {}
"""Every hook by name, in the order of a turn."""


def spec(
    kind: Kind,
    deadline: float | None,
    *,
    since: tuple[int, int] = (1, 0),
    background: bool = False,
    sync: bool = False,
    reverse: bool = False,
    asks: bool = False,
    registers: type | None = None,
) -> Callable[[F], F]:
    """Declare the decorated method as a hook; see :class:`HookSpec` for the options."""

    def declare(function: F) -> F:
        name = function.__name__
        HOOKS[name] = HookSpec(
            name=name,
            kind=kind,
            deadline=deadline,
            event=list(inspect.signature(function).parameters)[-1],
            since=since,
            background=background,
            sync=sync,
            reverse=reverse,
            asks=asks,
            registers=registers,
            doc=inspect.getdoc(function) or "",
        )
        return _hookspec(function)

    return declare
