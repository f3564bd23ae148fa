"""Imitates deliveries of real platforms: repeated, out of order, with undocumented fields."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
_STRANGE: Sequence[Any] = (None, True, -1, 2**70, "", "\u202e\ud83d", [], {}, [[{}]], {"id": None})


def redelivered(
    seed: int,
    messages: Sequence[T],
    *,
    max_times: int = 5,
    first_delay: float = 0.0,
    repeat_delay: float = 60.0,
) -> list[T]:
    """Return each message one to ``max_times`` times.

    The first is at its place or up to ``first_delay`` places later, repeats are up to
    ``repeat_delay`` places later.
    """
    chance = random.Random(seed)
    placed: list[tuple[float, int, T]] = []
    for place, message in enumerate(messages):
        for number in range(chance.randint(1, max_times)):
            delay = chance.uniform(0, repeat_delay if number else first_delay)
            placed.append((place + delay, len(placed), message))
    return [message for _, _, message in sorted(placed, key=lambda one: one[:2])]


def malformed(seed: int, event: Any, may_lack: Callable[[str], bool] = lambda _: False) -> Any:
    """Return an event with unknown and missing fields.

    Every object gets up to two unknown fields of any type. Fields whose path (``message.author``)
    ``may_lack`` accepts are missing at random.
    """
    return _malformed(random.Random(seed), copy.deepcopy(event), "", may_lack)


def _malformed(
    chance: random.Random, value: Any, path: str, may_lack: Callable[[str], bool]
) -> Any:
    if isinstance(value, list):
        return [_malformed(chance, one, path, may_lack) for one in value]
    if not isinstance(value, dict):
        return value
    changed: dict[str, Any] = {}
    for name, one in value.items():
        inner = f"{path}.{name}" if path else str(name)
        if not (may_lack(inner) and chance.random() < 0.5):
            changed[name] = _malformed(chance, one, inner, may_lack)
    for _ in range(chance.randint(0, 2)):
        changed[f"x_{chance.randrange(10**6)}"] = chance.choice(_STRANGE)
    return changed
