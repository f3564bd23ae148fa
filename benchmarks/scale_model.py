"""Machines and money for a number of chats: ``python benchmarks/scale_model.py``.

The peak of a day is simulated: messages arrive at random, a gateway takes each in, some worker
runs the turn, all of them ask the database, and in the middle the model takes its time. Each
process is one processor that does one thing after another, the database as many as it is given.
There is one more of each process than are needed, so that one may die. Processors are added until
the time beside the model is within what is wanted for 19 turns of 20, and no process is busier than
planned. What a turn costs is measured (`Measured`); what people do, and what things cost, is
assumed (`Assumed`).

``--check 2 39.1`` simulates two workers, a gateway and the database on the two processors of one
machine, with as much to do as they take, and compares the turns a second with what was measured
there (``PYTHONPATH=tests python -m support.reliability.run pace``). ``--set NAME=VALUE`` changes a
figure.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from math import ceil

CHATS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True)
class Measured:
    """What one turn costs: milliseconds of a processor, journeys to the database, kilobytes."""

    worker_ms: float = 19.6
    gateway_ms: float = 5.3
    database_ms: float = 9.4
    journeys: float = 14.0
    stored_kb: float = 9.0
    chat_kb: float = 43.0
    process_mb: float = 100.0


@dataclass(frozen=True)
class Assumed:
    """What people do and what is paid (dollars); no figure here is measured."""

    turns_a_day: float = 1.0  # of a chat
    peak: float = 5.2  # of the day's average
    calls: float = 2.0  # of the model, a turn
    model_seconds: float = 6.0  # a turn, exponentially distributed
    rtt_ms: float = 1.0
    busy: float = 0.6  # of a processor, at peak; the rest is for bursts and for one that died
    wanted_ms: float = 150.0  # of a turn beside the model, 95 of 100
    days: float = 365.0  # for which everything is kept
    processor: float = 30.0  # a month, with 4 GB
    database_processor: float = 75.0  # a month, managed, with a synchronous standby
    gigabyte: float = 0.25  # a month, on the database's disk and its standby's
    input_tokens: float = 6_000.0  # a call
    cached: float = 0.8  # of them
    output_tokens: float = 250.0
    input_price: float = 3.0  # a million
    cached_price: float = 0.3
    output_price: float = 15.0


class Station:
    """A number of processors that serve one piece of work after the other."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers
        self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """When a piece of work that comes now is done."""
        begin = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, begin + seconds)
        self.busy += seconds
        return begin + seconds


Step = tuple[Station | None, float]
"""Where, and for how many seconds; nowhere is waiting."""


@dataclass(frozen=True)
class Shape:
    """The number of processes of each kind, and of the database's processors."""

    workers: int
    gateways: int
    database: int


@dataclass(frozen=True)
class Outcome:
    """What a simulation found: turns a second, seconds beside the model, the busiest of each."""

    rate: float
    p50: float
    p95: float
    busy: tuple[float, float, float]


def steps(
    cost: Measured, given: Assumed, gateway: Station, worker: Station, database: Station,
    model: float,
) -> Iterator[Step]:  # fmt: skip
    """What one turn does, in order."""
    asks = max(3, round(cost.journeys / 3))

    def ask(parts: int) -> Iterator[Step]:
        for _ in range(parts):
            yield None, given.rtt_ms / 1000
            yield database, cost.database_ms / 1000 / (asks * 3)

    yield gateway, cost.gateway_ms / 2000
    yield from ask(asks)
    yield worker, cost.worker_ms / 2000
    yield from ask(asks)
    yield None, model
    yield worker, cost.worker_ms / 2000
    yield from ask(asks)
    yield gateway, cost.gateway_ms / 2000


def simulated(
    cost: Measured, given: Assumed, shape: Shape, rate: float, turns: int, *,
    at_once: int = 0, shared: int = 0,
) -> Outcome:  # fmt: skip
    """Run ``turns``, which arrive at random ``rate`` times a second.

    With ``at_once`` so many are always under way instead, and the model takes no time. With
    ``shared`` all processes and the database have so many processors together.
    """
    dice = random.Random(7)
    one = Station(shared) if shared else None
    workers = [one or Station(1) for _ in range(shape.workers)]
    gateways = [one or Station(1) for _ in range(shape.gateways)]
    database = one or Station(shape.database)
    queue: list[tuple[float, int, Iterator[Step], float, float]] = []
    number = 0
    took: list[float] = []

    def arrive(at: float) -> None:
        nonlocal number
        model = 0.0 if at_once else dice.expovariate(1 / given.model_seconds)
        gateway, worker = gateways[number % len(gateways)], workers[number % len(workers)]
        turn = steps(cost, given, gateway, worker, database, model)
        heapq.heappush(queue, (at, number, turn, at, model))
        number += 1

    at = 0.0
    for _ in range(at_once or turns):
        at += 0.0 if at_once else dice.expovariate(rate)
        arrive(at)
    now = 0.0
    while queue:
        now, place, turn, begin, model = heapq.heappop(queue)
        step = next(turn, None)
        if step is None:
            took.append(now - begin - model)
            if at_once and number < turns:
                arrive(now)
            continue
        station, seconds = step
        done = now + seconds if station is None else station.serve(now, seconds)
        heapq.heappush(queue, (done, place, turn, begin, model))
    took.sort()
    last = now if at_once else at
    busy = (
        max(one.busy for one in workers) / last,
        max(one.busy for one in gateways) / last,
        database.busy / last / (shared or shape.database),
    )
    return Outcome(len(took) / last, took[len(took) // 2], took[int(len(took) * 0.95)], busy)


def needed(cost: Measured, given: Assumed, rate: float) -> tuple[Shape, Outcome]:
    """The fewest processes that are within what is wanted, and what they do then."""
    least = [
        ceil(rate * ms / 1000 / given.busy)
        for ms in (cost.worker_ms, cost.gateway_ms, cost.database_ms)
    ]
    # One more than needed, so that one may die; a database has its standby, which is paid with it.
    shape = Shape(max(1, least[0]) + 1, max(1, least[1]) + 1, max(1, least[2]))
    while True:
        # Judged with one of each gone.
        left = Shape(shape.workers - 1, shape.gateways - 1, shape.database)
        turns = max(2_000, min(30_000, int(rate * 60)))
        outcome = simulated(cost, given, left, rate, turns)
        if outcome.p95 * 1000 <= given.wanted_ms:
            return shape, outcome
        fullest = outcome.busy.index(max(outcome.busy))
        shape = Shape(*[n + (k == fullest) for k, n in enumerate(_counts(shape))])


def _counts(shape: Shape) -> tuple[int, int, int]:
    return shape.workers, shape.gateways, shape.database


def bill(cost: Measured, given: Assumed, chats: int, shape: Shape) -> tuple[float, float, float]:
    """Terabytes stored, and dollars a month: for the machines, and for the model."""
    turns = chats * given.turns_a_day
    gigabytes = turns * given.days * cost.stored_kb / 1e6
    machines = (shape.workers + shape.gateways) * given.processor
    machines += shape.database * given.database_processor + gigabytes * given.gigabyte
    fresh, old = 1 - given.cached, given.cached
    price = given.input_tokens * (fresh * given.input_price + old * given.cached_price)
    price += given.output_tokens * given.output_price
    return gigabytes / 1000, machines, turns * 30 * given.calls * price / 1e6


def lines(cost: Measured, given: Assumed) -> Iterator[str]:
    """The table."""
    yield (
        f"{'chats':>10} {'at peak':>9} {'workers':>8} {'gateways':>9} {'database':>9} "
        f"{'p95':>7} {'storage':>9} {'machines':>10} {'model':>14}"
    )
    for chats in CHATS:
        rate = chats * given.turns_a_day / 86_400 * given.peak
        shape, outcome = needed(cost, given, rate)
        stored, machines, model = bill(cost, given, chats, shape)
        yield (
            f"{chats:>10,} {rate:>7.2f}/s {shape.workers:>8} {shape.gateways:>9} "
            f"{shape.database:>9} {outcome.p95 * 1000:>4.0f} ms {stored:>6.2f} TB "
            f"$ {machines:>8,.0f} $ {model:>12,.0f}"
        )


def checked(cost: Measured, given: Assumed, workers: int, measured: float) -> str:
    """The simulation of one machine beside what was measured there."""
    given = replace(given, rtt_ms=0.1)
    found = simulated(cost, given, Shape(workers, 1, 2), 0.0, 4_000, at_once=40, shared=2)
    return (
        f"{workers} workers on 2 processors: {found.rate:.1f} turns a second simulated, "
        f"{measured:.1f} measured ({found.rate / measured:.2f} ×)"
    )


def changed(kind: Callable[..., object], changes: dict[str, float]) -> object:
    """A set of figures, some of them changed."""
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in changes.items() if name in names})


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Machines and money for a number of chats.")
    parser.add_argument("--check", nargs=2, type=float, metavar=("WORKERS", "TURNS"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    changes = {name: float(value) for name, _, value in (one.partition("=") for one in options.set)}
    known = {one.name for kind in (Measured, Assumed) for one in fields(kind)}
    if unknown := changes.keys() - known:
        parser.error(f"there is no figure {min(unknown)}; there are {', '.join(sorted(known))}")
    cost, given = changed(Measured, changes), changed(Assumed, changes)
    assert isinstance(cost, Measured)
    assert isinstance(given, Assumed)
    if options.check:
        sys.stdout.write(checked(cost, given, int(options.check[0]), options.check[1]) + "\n")
        return
    for text in lines(cost, given):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
