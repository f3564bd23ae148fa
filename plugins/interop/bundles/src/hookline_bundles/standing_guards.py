"""Guards that the person relies on although their bundle is no longer used.

A bundle whose content changed or was removed by its catalog does not run. The person agreed to its
guards, though, so what they would have judged is refused until the person has looked at the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .bundle import BundleHook
from .hook_answers import GUARDS

STANDING_EVENTS = GUARDS | {"PermissionRequest"}
"""Events at which a hook may refuse."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What a guard is for: its event, and the matcher and condition of its calls."""

    event: str
    matcher: str
    condition: str


EVERYTHING = tuple(Guard(event, "", "") for event in sorted(STANDING_EVENTS))
"""A guard for every call, question and message."""


def guards_of(hooks: Iterable[BundleHook]) -> tuple[Guard, ...]:
    """Return the guards among hooks, each once."""
    found = (
        Guard(hook.event, hook.matcher, hook.condition)
        for hook in hooks
        if hook.event in STANDING_EVENTS and not hook.detached
    )
    return tuple(dict.fromkeys(found))


def as_rows(guards: Iterable[Guard]) -> list[list[str]]:
    """Return guards as they are stored."""
    return [[guard.event, guard.matcher, guard.condition] for guard in guards]


def from_rows(rows: Any) -> tuple[Guard, ...]:
    """Return stored guards. Raises ``ValueError`` or ``TypeError`` for anything else."""
    if not isinstance(rows, Sequence):
        raise TypeError("expected a list of guards")
    return tuple(Guard(*map(str, row)) for row in rows)
