"""Messages in a cluster in which processes are killed and frozen, and the database goes away."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .fleet import Fleet, GatewayClient
from .model import Model
from .node import Node
from .platform import Message, Platform, moody
from .result import Result
from .stage import Stage, judge_replies
from .storm import POINTS, messages_of

RECOVERY = 20.0
"""Seconds within which others have taken over, by SCALE."""


@dataclass
class Cluster:
    """How much of it. ``frozen`` (s) is how long a process that wakes again was stopped; every
    other time it is for ``longer``, so that others take it for dead. ``slow`` (ms) is the longest
    round trip to the database."""

    messages: int = 150
    kills: int = 8
    freezes: int = 1
    restarts: int = 1
    cuts: int = 2
    chats: int = 12
    gateways: int = 2
    workers: int = 3
    frozen: float = 3.0
    longer: float = 17.0
    slow: float = 5.0
    faults: float = 0.03
    tools: float = 0.4
    machines: bool = False


SHORT = Cluster()
LONG = Cluster(*(10_000, 200, 12, 10, 20, 200), frozen=12.0, longer=18.0, slow=20.0, machines=True)


@dataclass
class Faults:
    """What was done to the cluster: when (``time.monotonic``), for how long, and what."""

    done: list[tuple[float, float, str]] = field(default_factory=list)
    ended: Counter[int | None] = field(default_factory=Counter)
    """Return codes of processes that had been frozen, once they woke."""
    frozen: Node | None = None
    """The node of the process that is frozen, or has just woken and may have to be started."""

    def add(self, what: str, begin: float) -> None:
        self.done.append((begin, time.monotonic(), what))

    def between(self, start: float, end: float) -> bool:
        """True if something was done, or still going on, in that time."""
        return any(begin <= end and finish >= start for begin, finish, _ in self.done)


@asynccontextmanager
async def fleet_stage(
    seed: int, much: Cluster, *, counts: bool = False, **model: Any
) -> AsyncIterator[tuple[Stage, Fleet]]:
    """Platform, model and a fleet that is up, and nothing left running."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="hookline-reliability-") as made:
        platform, brain = Platform(retry=0.1), Model(dice, **model)
        async with platform.up():
            with brain.up():
                urls = platform.url, brain.base_url
                fleet = Fleet(Path(made), *urls, machines=much.machines, counts=counts)
                try:
                    await fleet.start(much.gateways, much.workers)
                    yield Stage(dice, platform, brain, fleet), fleet  # type: ignore[arg-type]
                finally:
                    fleet.close()


async def run(seed: int, much: Cluster) -> Result:
    """Run the scenario."""
    result = Result("cluster")
    begin = time.monotonic()
    async with fleet_stage(seed, much, delay=(0.0, 0.3), pace=(0.0, 0.004)) as (on, fleet):
        on.platform.behave = moody(random.Random(seed + 1), much.faults)
        messages = messages_of(on.seed, much)
        faults = await _storm(on, fleet, messages, much)
        late = await on.platform.answered(messages)
        result.note("messages", len(messages))
        for what, count in sorted(Counter(what for _, _, what in faults.done).items()):
            result.note(f"… {what}", count)
        if faults.ended:
            told = ", ".join(f"{code}: {count}" for code, count in faults.ended.items())
            result.note("return codes of processes that woke", told.replace("None", "goes on"))
        result.must("open at the end", await _open(fleet), {"waiting": 0, "open": 0})
        codes = [await node.stop() for node in fleet.nodes.values()]
        result.must("exit codes after SIGTERM", set(codes), {0})
        judge_replies(result, on, messages)
        result.none("rows written by another than the owner", fleet.by_others())
        result.note("rows looked at", fleet.watched())
        _judge_again(result, on, faults)
        _tell_recovery(result, on, messages, faults)
        result.note("messages still open at the end", len(late))
    result.note("seconds", round(time.monotonic() - begin))
    return result


async def _open(fleet: Fleet) -> dict[str, int]:
    """What waits, once that does not change any more."""
    for _ in range(20):
        found = await fleet.status()
        left = {name: found[name] for name in ("waiting", "open")}
        if not any(left.values()):
            break
        await asyncio.sleep(1)
    return left


Fault = Callable[[Stage, Fleet, Faults, Cluster], Awaitable[None]]


async def _storm(on: Stage, fleet: Fleet, messages: list[Message], much: Cluster) -> Faults:
    """Deliver while one fault after the other is done."""
    faults = Faults()
    planned: list[Fault] = [_kill] * much.kills + [_restart] * much.restarts + [_cut] * much.cuts
    on.seed.shuffle(planned)
    # Freezes take long and go on beside the rest.
    share = len(messages) / (len(planned) + 1)
    freezing = asyncio.create_task(_freezes(on, fleet, faults, much))
    sending: list[asyncio.Task[None]] = []
    for number, fault in enumerate([*planned, None]):
        part = messages[int(number * share) : int((number + 1) * share)]
        sending.append(asyncio.create_task(_deliver(on, fleet, part)))
        if fault is not None:
            await fault(on, fleet, faults, much)
    await freezing
    await asyncio.gather(*sending)
    fleet.line.say("delay 0")
    return faults


async def _deliver(on: Stage, fleet: Fleet, messages: list[Message]) -> None:
    """Deliver messages to any gateway, some at once, each now and then twice."""
    ports = [node.port for node in fleet.named("gateway")]
    twice = [m for m in messages for _ in range(on.seed.choice((1, 1, 1, 2)))]
    waiting = iter(twice)

    async def work() -> None:
        clients = GatewayClient(ports, on.seed)
        try:
            for message in waiting:
                await on.platform.deliver(clients, message)  # type: ignore[arg-type]
        finally:
            clients.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(work())


async def _kill(on: Stage, fleet: Fleet, faults: Faults, much: Cluster) -> None:
    """End a process by SIGKILL, a worker in four cases of five, and start it again."""
    kind = "worker" if on.seed.random() < 0.8 else "gateway"
    running = [one for one in fleet.named(kind) if one is not faults.frozen and not is_stopped(one)]
    node = on.seed.choice(running)
    await asyncio.sleep(on.seed.uniform(0.0, 1.0))
    if kind == "worker" and on.seed.random() < 0.5:
        point = on.seed.choice([one for one in POINTS if one != "after-send"])
        await node.kill()
        faults.add("a worker killed", time.monotonic())
        await node.start(HOOKLINE_CRASH_AT=f"{point}:{on.seed.randint(1, 3)}")
        at_point = await node.ended(3.0) is not None
        begin = time.monotonic()
        if not at_point:
            await node.kill()
        faults.add("a worker killed" + (" at a named point" if at_point else ""), begin)
    else:
        begin = time.monotonic()
        await node.kill()
        faults.add(f"a {kind} killed", begin)
    await node.start()


async def _restart(on: Stage, fleet: Fleet, faults: Faults, much: Cluster) -> None:
    begin = time.monotonic()
    await fleet.restart_database(on.seed.uniform(0.0, 3.0))
    faults.add("the database restarted", begin)


async def _cut(on: Stage, fleet: Fleet, faults: Faults, much: Cluster) -> None:
    """Break every connection to the database, and make the line slower or quicker."""
    begin = time.monotonic()
    fleet.line.say("down")
    await asyncio.sleep(on.seed.uniform(0.0, 2.0))
    fleet.line.say(f"delay {on.seed.uniform(0.0, much.slow)}")
    fleet.line.say("up")
    faults.add("all connections to the database cut", begin)


async def _freezes(on: Stage, fleet: Fleet, faults: Faults, much: Cluster) -> None:
    """Freeze one process after the other; one that ends when it wakes is started again."""
    lengths = itertools.cycle((much.longer, much.frozen))
    for number in range(much.freezes):
        await asyncio.sleep(on.seed.uniform(0.5, 2.0))
        # Not one that is just being killed: `_kill` chooses among the others.
        running = [h for h in fleet.nodes.values() if h.process and h.process.poll() is None]
        node = on.seed.choice(running[1:] if number else fleet.named("worker"))
        process = node.process
        assert process is not None
        faults.frozen = node
        begin = time.monotonic()
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(next(lengths))
        if node.process is process and process.poll() is None:
            process.send_signal(signal.SIGCONT)
            faults.add("a process frozen", begin)
            code = await node.ended(8.0)
            faults.ended[code] += 1
            if code is not None:
                await node.start()
        faults.frozen = None


def is_stopped(node: Node) -> bool:
    """True for a process that is stopped, or not there."""
    assert node.process is not None
    try:
        stat = Path(f"/proc/{node.process.pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "TZ"


def _judge_again(result: Result, on: Stage, faults: Faults) -> None:
    """What is done twice is done so because of a fault."""
    told = {id_: post.at for id_, post in on.platform.shown.items()}
    broken, after = on.platform.sent_again()
    result.note("replies sent again with the same id", len(broken) + len(after))
    strange = [p.body["id"] for p in after if not faults.between(told[p.body["id"]], p.at)]
    result.none("replies sent again after a 2xx without a fault", strange)
    repeated = [
        (f"{id_} step {step}", pair)
        for (id_, step), times in on.model.calls.items()
        for pair in itertools.pairwise(times)
    ]
    result.note("model calls made again", len(repeated))
    result.none("… without a fault", [id_ for id_, pair in repeated if not faults.between(*pair)])


def _tell_recovery(result: Result, on: Stage, messages: list[Message], faults: Faults) -> None:
    """How long after a fault the last message was answered whose turn had begun by then.

    What had not begun waits for its place among all that came, with or without the fault.
    """
    platform, begun = on.platform, dict[str, float]()
    for (id_, _), times in on.model.calls.items():
        begun[id_] = min(times[0], begun.get(id_, times[0]))
    at = {m.id: platform.shown[platform.answers[m.id][0]].at for m in _answered(platform, messages)}
    took: dict[str, list[float]] = defaultdict(list)
    for begin, _, what in faults.done:
        under_way = [at[id_] for id_, since in begun.items() if since < begin < at.get(id_, 0.0)]
        if under_way:
            took[what].append(max(under_way) - begin)
    for what, times in sorted(took.items()):
        said = f"after {what}: all turns that were under way have answered"
        result.note(said, f"median {median(times):.1f} s, longest {max(times):.1f} s")
    killed = [t for what, times in took.items() if what.startswith("a worker") for t in times]
    if killed:
        result.aim("longest recovery from the kill of a worker", max(killed), RECOVERY, "s")


def _answered(platform: Platform, messages: list[Message]) -> Iterator[Message]:
    return (message for message in messages if message.id in platform.answers)
