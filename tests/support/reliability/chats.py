"""Many chats at once: secrets stay in their chat, order is kept, all are answered soon."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from statistics import median

from .model import CANARY
from .platform import Message
from .result import Result, percentile
from .stage import Stage, judge, stage
from .wire import PATIENCE, Line

LINES = 32
"""Connections of the platform to the webhook."""


@dataclass
class Chats:
    """``delay``: seconds that the model takes; ``pause``: those a person takes, at most."""

    chats: int = 60
    rounds: int = 2
    delay: float = 0.5
    pause: float = 0.3
    standard: bool = False


SHORT = Chats()
LONG = Chats(chats=1000, rounds=3, delay=20.0, pause=5.0)


async def run(seed: int, much: Chats) -> Result:
    """Run the scenario."""
    result = Result("chats")
    async with stage(seed, standard=much.standard, delay=(much.delay, much.delay)) as on:
        await on.node.start()
        lines: asyncio.Queue[Line] = asyncio.Queue()
        for _ in range(LINES):
            lines.put_nowait(Line(on.node.port))
        await _warm_up(on, lines)
        before = on.node.sample()
        watch = asyncio.create_task(_watch(on))
        begin = time.monotonic()
        async with asyncio.TaskGroup() as group:
            people = [group.create_task(_person(on, n, much, lines)) for n in range(much.chats)]
        spent = time.monotonic() - begin
        watch.cancel()
        after = on.node.sample()
        for _ in range(LINES):
            lines.get_nowait().close()
        measured = [message for person in people for message in person.result()[0]]
        messages = measured + [message for person in people for message in person.result()[1]]
        await on.platform.answered(messages)
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        _tell(result, on, much, measured)
        result.note("turns a second", round(len(messages) / spent, 1))
        per_turn = (after.cpu - before.cpu) / len(messages) * 1000
        result.note("processor time a turn", f"{per_turn:.1f} ms")
        result.aim("largest resident set", max(_peaks(on, after.resident)), 512, "MB")
        judge(result, on, messages, [])
        _no_secret_told(result, on, messages)
    return result


async def _warm_up(on: Stage, lines: asyncio.Queue[Line]) -> None:
    message = Message("warm", "warm", "[warm] hello")
    line = await lines.get()
    await on.platform.deliver(line, message)
    lines.put_nowait(line)
    await on.platform.answered([message])


async def _person(
    on: Stage, number: int, much: Chats, lines: asyncio.Queue[Line]
) -> tuple[list[Message], list[Message]]:
    """One chat: messages that wait for the last one's answer, then two that do not."""
    secret = f"canary-{number}x{on.seed.randrange(10**6):06}"
    await asyncio.sleep(on.seed.uniform(0, much.delay + much.pause))
    made = [
        Message(f"c{number}n{n}", f"c{number}", f"[c{number}n{n}] my word is {secret}")
        for n in range(much.rounds + 2)
    ]
    for message in made[: much.rounds]:
        await _send(on, message, lines)
        await _answer(on, message)
        await asyncio.sleep(on.seed.uniform(0, much.pause))
    for message in made[much.rounds :]:
        await _send(on, message, lines)
    return made[: much.rounds], made[much.rounds :]


async def _send(on: Stage, message: Message, lines: asyncio.Queue[Line]) -> None:
    line = await lines.get()
    try:
        await on.platform.deliver(line, message)
    finally:
        lines.put_nowait(line)


async def _answer(on: Stage, message: Message) -> None:
    until = time.monotonic() + PATIENCE
    while message.id not in on.platform.answers:
        if time.monotonic() > until:
            raise TimeoutError(f"message {message.id} was not answered in {PATIENCE:g} s")
        await asyncio.sleep(0.05)


async def _watch(on: Stage) -> None:
    """Look at the gateway once a second."""
    while True:
        on.samples.append(on.node.sample())
        await asyncio.sleep(1.0)


def _peaks(on: Stage, last: int) -> list[float]:
    return [resident / 1e6 for resident in (last, *(s.resident for s in on.samples))]


def _tell(result: Result, on: Stage, much: Chats, measured: list[Message]) -> None:
    result.note("chats", much.chats)
    result.note("the model takes", f"{much.delay:g} s")
    under_way = _most_at_once(on, measured)
    result.note("most turns under way at once", under_way)
    beside = []
    for message in measured:
        if message.id in on.platform.answers:
            shown = on.platform.shown[on.platform.answers[message.id][0]].at
            beside.append((shown - message.first_sent - on.model.took[message.id]) * 1000)
    if beside:
        result.note("time beside the model, median", f"{median(beside):.1f} ms")
        result.aim("time beside the model, p95", percentile(beside, 0.95), 50, "ms")


def _most_at_once(on: Stage, messages: list[Message]) -> int:
    steps = []
    for message in messages:
        if message.id in on.platform.answers:
            shown = on.platform.shown[on.platform.answers[message.id][0]].at
            steps += [(message.first_sent, 1), (shown, -1)]
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def _no_secret_told(result: Result, on: Stage, messages: list[Message]) -> None:
    told = []
    for message in messages:
        for id_ in on.platform.answers.get(message.id, ()):
            text = on.platform.shown[id_].body["text"]
            if set(CANARY.findall(text)) != set(CANARY.findall(message.text)):
                told.append(message.id)
    result.none("replies with another chat's secret, or without their own", told)
