"""The kinds of hooks, and the table in which each spec registers its hook."""

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
"""The return type of a hook that may be ``def`` or ``async def``."""

PROJECT = "hookline"
hookimpl = pluggy.HookimplMarker(PROJECT)
_hookspec = pluggy.HookspecMarker(PROJECT)

GUARDS: frozenset[Kind] = frozenset({"veto", "gate"})
"""Kinds whose implementations can refuse; a failure counts as a refusal."""


@dataclass(frozen=True, slots=True)
class HookSpec:
    """A hook: ``deadline`` in seconds (None for no limit), ``since`` the API version that added it.

    ``event`` is the name of the last argument. ``background`` hooks run after the reply was sent.
    ``sync`` hooks must be ``def``; ``registers`` is the type of what they register, if
    ``host.registered`` lists it. ``reverse`` hooks call the last plugin first. ``asks`` hooks wait
    for a person, so slow calls are not reported.
    """

    name: str
    kind: Kind
    deadline: float | None
    event: str
    doc: str
    since: tuple[int, int] = (1, 0)
    background: bool = False
    sync: bool = False
    reverse: bool = False
    asks: bool = False
    registers: type | None = None


HOOKS: dict[str, HookSpec] = {}
"""Every hook by name, in the order they fire in a turn."""


def spec(kind: Kind, deadline: float | None, **options: Any) -> Callable[[F], F]:
    """Register the decorated method as a hook; ``options`` are fields of :class:`HookSpec`."""

    def declare(function: F) -> F:
        name, event = function.__name__, list(inspect.signature(function).parameters)[-1]
        doc = inspect.getdoc(function) or ""
        HOOKS[name] = HookSpec(name, kind, deadline, event, doc, **options)
        return _hookspec(function)

    return declare
