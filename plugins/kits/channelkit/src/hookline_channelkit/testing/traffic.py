"""How real platforms deliver: twice, out of order, and with fields that nobody has documented."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def deliveries(
    seed: int, messages: Sequence[T], *, most: int = 5, near: float = 0.0, far: float = 60.0
) -> list[T]:
    """Each message one to ``most`` times: the first time in its place, or up to ``near`` places
    later; repeats up to ``far`` places later."""
    chance = random.Random(seed)
    placed: list[tuple[float, int, T]] = []
    for place, message in enumerate(messages):
        for number in range(chance.randint(1, most)):
            late = chance.uniform(0, far if number else near)
            placed.append((place + late, len(placed), message))
    return [message for _, _, message in sorted(placed, key=lambda one: one[:2])]


def misshapen(seed: int, event: Any, may_lack: Callable[[str], bool] = lambda _: False) -> Any:
    """An event of the platform with fields that are unknown, null or missing.

    Every object gets an unknown field or two, of any type. A field whose path (``message.author``)
    ``may_lack`` says may be missing is, now and then.
    """
    return _misshape(random.Random(seed), copy.deepcopy(event), "", may_lack)


_STRANGE: Sequence[Any] = (None, True, -1, 2**70, "", "\u202e\ud83d", [], {}, [[{}]], {"id": None})


def _misshape(chance: random.Random, value: Any, path: str, may_lack: Callable[[str], bool]) -> Any:
    if isinstance(value, list):
        return [_misshape(chance, one, path, may_lack) for one in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, one in value.items():
        inner = f"{path}.{name}" if path else str(name)
        if not (may_lack(inner) and chance.random() < 0.5):
            made[name] = _misshape(chance, one, inner, may_lack)
    for _ in range(chance.randint(0, 2)):
        made[f"x_{chance.randrange(10**6)}"] = chance.choice(_STRANGE)
    return made
