"""Messages in a storm of kills: each delivered one to five times, out of order."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .platform import Message, moody
from .result import Result
from .stage import Stage, judge, stage

POINTS = (
    *("after-receive", "after-commit", "before-model", "mid-stream", "after-model"),
    *("before-tool", "mid-tool", "after-tool", "before-reply", "after-send"),
)
"""Every named crash point of a turn."""
MOMENT = "some moment"


@dataclass
class Storm:
    """How much of it. ``faults``: the share of replies that the platform does not take at once."""

    messages: int = 150
    kills: int = 12
    chats: int = 12
    faults: float = 0.05
    tools: float = 0.4
    longest: float = 6.0
    """Seconds until a gateway that does not come to its crash point is killed anyway."""


SHORT = Storm()
LONG = Storm(messages=10_000, kills=200, chats=200)


@dataclass
class Killed:
    """When gateways died, and where."""

    times: list[float]
    places: Counter[str]


async def run(seed: int, much: Storm) -> Result:
    """Run the scenario."""
    result = Result("storm")
    begin = time.monotonic()
    async with stage(seed, delay=(0.0, 0.05), pace=(0.0, 0.004)) as on:
        on.platform.behave = moody(random.Random(seed + 1), much.faults)
        messages = messages_of(on.seed, much)
        deliveries = _deliveries(on.seed, messages)
        killed = await _lives(on, deliveries, much)
        late = await on.platform.answered(messages)
        result.note("messages", len(messages))
        result.note("deliveries", len(deliveries))
        result.note("kills", len(killed.times))
        result.note("killed at", ", ".join(f"{k} {n}" for k, n in sorted(killed.places.items())))
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        judge(result, on, messages, killed.times)
        result.note("messages still open at the end", len(late))
    result.note("seconds", round(time.monotonic() - begin))
    return result


def messages_of(seed: random.Random, much: Any) -> list[Message]:
    """Messages in ``chats``, a share of which (``tools``) asks for the tool that writes."""
    made = []
    for number in range(much.messages):
        word = "write this down" if seed.random() < much.tools else "hello"
        made.append(Message(f"m{number}", f"c{seed.randrange(much.chats)}", f"[m{number}] {word}"))
    return made


def _deliveries(seed: random.Random, messages: list[Message]) -> list[Message]:
    """Each message one to five times: near its place, and now and then much later."""
    placed: list[tuple[float, int, Message]] = []
    for place, message in enumerate(messages):
        for copy in range(seed.randint(1, 5)):
            far = 60 if copy and seed.random() < 0.3 else 6
            placed.append((place + seed.uniform(0, far), len(placed), message))
    return [message for _, _, message in sorted(placed, key=lambda item: item[:2])]


async def _lives(on: Stage, deliveries: list[Message], much: Storm) -> Killed:
    """Deliver while one gateway after the other is killed; the last one stays."""
    killed = Killed([], Counter())
    places = _places(on.seed, much.kills)
    share = len(deliveries) / (much.kills + 1)
    sending: set[asyncio.Task[None]] = set()
    for life in range(much.kills):
        part = deliveries[int(life * share) : int((life + 1) * share)]
        sending.add(asyncio.create_task(on.platform.deliver_all(part)))
        killed.places[await _one_life(on, places[life], much)] += 1
        killed.times.append(time.monotonic())
        sending = {task for task in sending if not task.done() or task.exception()}
    await on.node.start()
    sending.add(asyncio.create_task(on.platform.deliver_all(deliveries[int(much.kills * share) :])))
    await asyncio.gather(*sending)
    return killed


def _places(seed: random.Random, kills: int) -> list[str]:
    """Where each gateway is to die: every point and some moment, over and over, shuffled."""
    some = max(2, min(kills - len(POINTS), len(POINTS)))
    places: list[str] = []
    while len(places) < kills:
        around = [*POINTS, *[MOMENT] * some]
        seed.shuffle(around)
        places += around
    return places[:kills]


async def _one_life(on: Stage, place: str, much: Storm) -> str:
    """Start a gateway and see it die; where it did."""
    if place == MOMENT:
        await on.node.start()
        await asyncio.sleep(on.seed.uniform(0.0, 1.2))
    else:
        await on.node.start(HOOKLINE_CRASH_AT=f"{place}:{on.seed.randint(1, 3)}")
        if await on.node.ended(much.longest) is not None:
            return place
    await on.node.kill()
    return MOMENT
