"""What goes wrong with a request, by plan or by chance."""

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
KINDS: tuple[FaultKind, ...] = (
    *("drop", "refuse", "silent", "half-open", "slow"),
    *("429", "500", "502", "garbage", "expired"),
)
"""What a fake has to be able to do:

- ``drop``: do what was asked, then cut the connection without an answer.
- ``refuse``: cut the connection; nothing is done.
- ``silent``: nothing is done and no answer comes, for ``seconds`` (a client has to give up itself).
- ``half-open``: the connection stays, and nothing comes through it any more.
- ``slow``: do it and answer, ``seconds`` later.
- ``429``: nothing is done; the platform's own header or field says to wait ``seconds``.
- ``500``, ``502``: nothing is done; a body that is not the platform's (HTML).
- ``garbage``: do it, and answer with status 200 and a body that nobody can read.
- ``expired``: nothing is done; the token has run out.
"""
UNDONE: frozenset[FaultKind] = frozenset(
    {"refuse", "silent", "half-open", "429", "500", "502", "expired"}
)
"""Faults with which the request must have no effect."""


@dataclass(slots=True)
class Fault:
    """Mistreats requests.

    Args:
        kind: how, one of :data:`KINDS`.
        where: the method or route that it is for; "" for every one.
        times: how many requests; None for all.
        seconds: for ``429``, ``slow`` and ``silent``.
        overall: of a 429: it is for everything and not for the chat alone.
        after: requests of that kind that pass before it begins.
    """

    kind: FaultKind
    where: str = ""
    times: int | None = 1
    seconds: float = 1.0
    overall: bool = False
    after: int = 0

    @property
    def is_done(self) -> bool:
        """True if the request has its effect."""
        return self.kind not in UNDONE


@dataclass(slots=True)
class _Chance:
    """A share of requests that fail."""

    random: random.Random
    share: float
    kinds: Sequence[FaultKind]
    seconds: float
    where: frozenset[str]


@dataclass(slots=True)
class Faults:
    """What is planned. ``met`` counts what has happened, by kind."""

    planned: list[Fault] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    _chance: _Chance | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: FaultKind, where: str = "", **more: object) -> Fault:
        """Plan one; see :class:`Fault`."""
        made = Fault(kind, where, **more)  # type: ignore[arg-type]
        with self._lock:
            self.planned.append(made)
        return made

    def storm(
        self,
        seed: int,
        share: float,
        kinds: Sequence[FaultKind] = ("drop", "refuse", "429", "500", "502"),
        *,
        where: Sequence[str] = (),
        seconds: float = 0.05,
    ) -> None:
        """Let a share (0 to 1) of all requests fail, or of those ``where``, by chance."""
        with self._lock:
            chance = random.Random(seed)
            self._chance = _Chance(chance, share, tuple(kinds), seconds, frozenset(where))

    def clear(self) -> None:
        """Let everything be well."""
        with self._lock:
            self.planned.clear()
            self._chance = None

    def take(self, where: str) -> Fault | None:
        """The fault that this request meets, if any; to be asked once for each request."""
        with self._lock:
            found = self._planned(where) or self._by_chance(where)
            if found is not None:
                self.met[found.kind] += 1
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


def headers_of(fault: Fault, named: Mapping[str, str]) -> dict[str, str]:
    """Headers of a 429: ``named`` maps each header to ``seconds``, ``ms`` or a text of its own."""
    told = {"seconds": f"{fault.seconds:g}", "ms": f"{fault.seconds * 1000:.0f}"}
    return {name: told.get(how, how) for name, how in named.items()}
