"""How many turns a second a cluster takes, with more and more workers, and what each costs.

The model answers at once and everything shares this machine, so the processor time of a turn in
each kind of process says more than the turns a second do. As many messages are under way as there
are chats.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .cluster import Cluster, fleet_stage
from .fleet import Fleet, GatewayClient
from .platform import Message
from .result import Result
from .stage import Stage, judge_replies


@dataclass
class Pace:
    """How much of it. ``chats`` is how many messages are under way at a time; ``rate`` (a second)
    that of the part in which the time beside the model is measured."""

    messages: int = 60
    chats: int = 10
    workers: int = 2
    most: int = 2
    rate: float = 5.0
    slow: float = 0.0
    standard: bool = False
    counts: bool = False
    """Whether the database counts the statements of a turn, which costs it some time."""


SHORT = Pace()
LONG = Pace(messages=3_000, chats=60, workers=1, most=4, rate=20.0)


async def run(seed: int, much: Pace) -> Result:
    """Run the scenario with ``workers``, then twice as many, up to ``most``."""
    result = Result("pace")
    workers = much.workers
    while workers <= much.most:
        await _with(seed, much, workers, result)
        workers *= 2
    return result


async def _with(seed: int, much: Pace, workers: int, result: Result) -> None:
    shape = Cluster(gateways=1, workers=workers)
    async with fleet_stage(seed, shape, counts=much.counts) as (on, fleet):
        fleet.line.say(f"delay {much.slow}")
        messages = [
            Message(f"m{n}", f"c{n % much.chats}", f"[m{n}] hello") for n in range(much.messages)
        ]
        warm, rest = messages[: much.chats], messages[much.chats :]
        await _as_fast_as_it_goes(on, fleet, warm, much.chats)
        counted, before, begin = _counted(fleet, much), dict(_cpu(fleet)), time.monotonic()
        await _as_fast_as_it_goes(on, fleet, rest, much.chats)
        took = time.monotonic() - begin
        used = {kind: seconds - before[kind] for kind, seconds in _cpu(fleet)}
        counted = _counted(fleet, much) - counted
        said = f"{workers} worker{'s' if workers > 1 else ''}"
        result.note(f"{said}: turns a second", round(len(rest) / took, 1))
        shares = [f"{kind} {s / len(rest) * 1000:.1f} ms" for kind, s in used.items()]
        result.note(f"{said}: processor time a turn", ", ".join(shares))
        busy = ", ".join(f"{kind} {s / took * 100:.0f} %" for kind, s in used.items())
        result.note(f"{said}: of a processor", busy)
        for what, count in counted.most_common():
            if count >= len(rest) / 20:
                result.note(f"{said}: {what}", round(count / len(rest), 2))
        await _steadily(on, fleet, much, said, result)
        judge_replies(result, on, messages)


async def _as_fast_as_it_goes(
    on: Stage, fleet: Fleet, messages: list[Message], at_once: int
) -> None:
    """Each chat says the next thing once it has its answer."""
    queues: dict[str, list[Message]] = {}
    for message in messages:
        queues.setdefault(message.chat, []).append(message)

    async def talk(mine: list[Message]) -> None:
        clients = GatewayClient([node.port for node in fleet.named("gateway")], on.seed)
        for message in mine:
            await on.platform.deliver(clients, message)  # type: ignore[arg-type]
            await _answer(on, message)
        clients.close()

    await asyncio.gather(*map(talk, queues.values()))


async def _answer(on: Stage, message: Message) -> None:
    while message.id not in on.platform.answers:
        on.platform.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await on.platform.changed.wait()


async def _steadily(on: Stage, fleet: Fleet, much: Pace, said: str, result: Result) -> None:
    """Messages at a steady pace, each in a chat of its own turn; from the message to its reply."""
    count = max(10, int(much.rate * 10))
    messages = [Message(f"s{n}", f"c{n % much.chats}", f"[s{n}] hello") for n in range(count)]
    clients = [GatewayClient([h.port for h in fleet.named("gateway")], on.seed) for _ in range(8)]

    async def one(number: int, message: Message) -> float:
        await asyncio.sleep(number / much.rate)
        begin = time.monotonic()
        line = clients.pop() if clients else GatewayClient([fleet.nodes["gateway0"].port], on.seed)
        await on.platform.deliver(line, message)  # type: ignore[arg-type]
        clients.append(line)
        await _answer(on, message)
        return on.platform.shown[on.platform.answers[message.id][0]].at - begin

    times = sorted(await asyncio.gather(*(one(n, m) for n, m in enumerate(messages))))
    for line in clients:
        line.close()
    median, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    result.note(f"{said}, {much.rate:g} a second: median", f"{median * 1000:.0f} ms")
    result.aim(f"{said}, {much.rate:g} a second: p95", late * 1000, 150.0, "ms")


def _counted(fleet: Fleet, much: Pace) -> Counter[str]:
    """Journeys to the database, transactions and each statement so far."""
    found: Counter[str] = Counter({"journeys": fleet.line.count()[0]})
    found["transactions"] = fleet.rows("SELECT sum(xact_commit) FROM pg_stat_database")[0][0]
    if much.counts:
        for query, calls in fleet.rows("SELECT query, calls FROM pg_stat_statements"):
            found["… " + " ".join(query.split())[:100]] += calls
    return found


def _cpu(fleet: Fleet) -> Iterator[tuple[str, float]]:
    """Processor seconds of gateways, workers and the database, of those that are there now."""
    tick = os.sysconf("SC_CLK_TCK")
    for kind in ("gateway", "worker"):
        yield kind, sum(node.sample().cpu for node in fleet.named(kind))
    assert fleet.server.process is not None
    parent, total = fleet.server.process.pid, 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            stat = path.read_text().rpartition(")")[2].split()
            if int(stat[1]) == parent:
                total += int(stat[11]) + int(stat[12])
    yield "database", total / tick
