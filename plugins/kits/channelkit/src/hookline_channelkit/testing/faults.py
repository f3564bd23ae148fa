"""Faults of a fake platform's requests, planned or at random."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

FaultKind: TypeAlias = Literal[
    "drop", "refuse", "silent", "half-open", "slow", "429", "500", "502", "garbage", "expired"
]
FAULT_KINDS: tuple[FaultKind, ...] = (
    *("drop", "refuse", "silent", "half-open", "slow"),
    *("429", "500", "502", "garbage", "expired"),
)
"""The faults that a fake must support:

- ``drop``: execute it, then close the connection without an answer.
- ``refuse``: do nothing; close the connection.
- ``silent``: do nothing and do not answer for ``seconds``; the client must time out.
- ``half-open``: keep the connection open, but send nothing more.
- ``slow``: execute it and answer, ``seconds`` later.
- ``429``: do nothing; the platform's own header or field says to wait ``seconds``.
- ``500``, ``502``: do nothing; answer with a body that is not the platform's (HTML).
- ``garbage``: execute it, and answer with status 200 and an unreadable body.
- ``expired``: do nothing; the token has expired.
"""
WITHOUT_EFFECT: frozenset[FaultKind] = frozenset(
    {"refuse", "silent", "half-open", "429", "500", "502", "expired"}
)
"""Faults for which the request must have no effect."""


@dataclass(slots=True)
class Fault:
    """A planned fault.

    Args:
        kind: one of :data:`FAULT_KINDS`.
        where: the method or route that it applies to; "" for every one.
        times: number of requests that it applies to; None for all.
        seconds: for ``429``, ``slow`` and ``silent``.
        overall: for ``429``: the limit applies to all chats, not only to this one.
        after: number of such requests that pass before it.
    """

    kind: FaultKind
    where: str = ""
    times: int | None = 1
    seconds: float = 1.0
    overall: bool = False
    after: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the request is executed."""
        return self.kind not in WITHOUT_EFFECT


@dataclass(slots=True)
class _Chance:
    """A share of requests that fails at random."""

    random: random.Random
    share: float
    kinds: Sequence[FaultKind]
    seconds: float
    where: frozenset[str]


@dataclass(slots=True)
class Faults:
    """The faults of a fake. ``counts`` counts the faults that have occurred, by kind."""

    planned: list[Fault] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _chance: _Chance | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: FaultKind, where: str = "", **more: object) -> Fault:
        """Plan a fault; see :class:`Fault`."""
        fault = Fault(kind, where, **more)  # type: ignore[arg-type]
        with self._lock:
            self.planned.append(fault)
        return fault

    def randomize(
        self,
        seed: int,
        share: float,
        kinds: Sequence[FaultKind] = ("drop", "refuse", "429", "500", "502"),
        *,
        where: Sequence[str] = (),
        seconds: float = 0.05,
    ) -> None:
        """Make a share (0 to 1) of all requests, or of those to ``where``, fail at random."""
        with self._lock:
            chance = random.Random(seed)
            self._chance = _Chance(chance, share, tuple(kinds), seconds, frozenset(where))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self.planned.clear()
            self._chance = None

    def take(self, where: str) -> Fault | None:
        """Return the fault of this request, if any; call it once for each request."""
        with self._lock:
            found = self._planned(where) or self._by_chance(where)
            if found is not None:
                self.counts[found.kind] += 1
            return found

    def _planned(self, where: str) -> Fault | None:
        for fault in self.planned:
            if fault.where not in ("", where):
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self.planned.remove(fault)
            return fault
        return None

    def _by_chance(self, where: str) -> Fault | None:
        chance = self._chance
        if chance is None or (chance.where and where not in chance.where):
            return None
        if chance.random.random() >= chance.share:
            return None
        return Fault(chance.random.choice(chance.kinds), where, seconds=chance.seconds)


def headers_of(fault: Fault, names: Mapping[str, str]) -> dict[str, str]:
    """Return a 429's headers: ``names`` maps each to ``seconds``, ``ms`` or a fixed text."""
    values = {"seconds": f"{fault.seconds:g}", "ms": f"{fault.seconds * 1000:.0f}"}
    return {name: values.get(value, value) for name, value in names.items()}
