"""The kinds of hooks and their rules.

The modules beside this one declare the hooks; ``bus/bus.py`` in core calls them and combines their
results.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import pluggy

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Kind: TypeAlias = Literal["observe", "collect", "first", "pipeline", "guard", "around"]
"""How the results of several plugins become one, and what a failure means:

- ``observe``: nothing is returned.
- ``collect``: every contribution counts.
- ``first``: the first result that is not None wins.
- ``pipeline``: each implementation gets the previous one's output.
- ``guard``: may refuse, and may rewrite the event where the hook says so. The strictest verdict
  wins; a failure is a refusal.
- ``around``: middleware, nested.
"""
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""The return type of a hook that may be ``def`` or ``async def``."""

PROJECT = "hookline"
hookimpl = pluggy.HookimplMarker(PROJECT)
_hookspec = pluggy.HookspecMarker(PROJECT)


@dataclass(frozen=True, slots=True)
class HookSpec:
    """A hook; ``deadline`` is in seconds, or None for no limit.

    ``event`` is the name of the last argument. ``background`` hooks run after the reply was sent.
    ``sync`` hooks must be ``def``; ``registers`` is the type of what they register, if
    ``host.registered`` lists it. ``asks`` hooks wait for a person, so slow calls are not reported.
    ``rewrites`` guards may return a changed event.
    """

    name: str
    kind: Kind
    deadline: float | None
    event: str
    doc: str
    background: bool = False
    sync: bool = False
    asks: bool = False
    registers: type | None = None
    rewrites: bool = False

    @property
    def reverse(self) -> bool:
        """True for a hook that runs after the fact: the last plugin in config.yaml is called first.

        The plugin that began first therefore ends last.
        """
        return self.name == "teardown" or self.name.startswith(("post_", "end_"))


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
