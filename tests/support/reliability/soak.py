"""Steady traffic for a long time: memory, handles, threads and tasks do not grow."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .node import Sample
from .platform import Message
from .result import Result
from .stage import Stage, judge_replies, stage
from .wire import Line

TASKS = re.compile(r"tasks=(\d+)")
NEW_EVERY = 10
"""Messages after which a chat begins a new session, so that histories do not grow for ever."""

LONG_ENOUGH = 1800.0
"""Seconds from which a slope an hour means something; before, one page more is megabytes."""


@dataclass
class Soak:
    """``rate``: messages a second; ``every``: seconds between two looks at the process."""

    seconds: float = 5.0
    rate: float = 12.0
    chats: int = 20
    every: float = 1.0
    standard: bool = False


SHORT = Soak()
LONG = Soak(seconds=3600.0, rate=5.0, chats=50, every=10.0)


async def run(seed: int, much: Soak) -> Result:
    """Run the scenario."""
    result = Result("soak")
    async with stage(seed, standard=much.standard, delay=(0.0, 0.05)) as on:
        await on.node.start()
        line = Line(on.node.port)
        numbers = itertools.count()
        first = [await _say(on, line, m) for m in itertools.islice(_messages(much, numbers), 30)]
        before, tasks_before = await _at_rest(on, line, first, "before")
        watch = asyncio.create_task(_watch(on, much.every))
        sent = await _traffic(on, line, much, numbers)
        watch.cancel()
        after, tasks_after = await _at_rest(on, line, sent, "after")
        line.close()
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        result.note("messages", len(sent))
        result.note("resident, before and after", f"{_mb(before)} MB, {_mb(after)} MB")
        _slope(result, on.samples, much.seconds)
        _flat(result, "open handles", before.handles, after.handles, 4)
        _flat(result, "threads", before.threads, after.threads, 2)
        _flat(result, "tasks of the event loop", tasks_before, tasks_after, 2)
        judge_replies(result, on, [m for m in [*first, *sent] if m.text.startswith("[")])
    return result


def _messages(much: Soak, numbers: Iterator[int]) -> Iterator[Message]:
    """Messages, chat after chat; now and then a command, a tool."""
    for number in numbers:
        chat, turn = f"c{number % much.chats}", number // much.chats
        word = "write this down" if number % 7 == 0 else "hello"
        text = "/new" if turn % NEW_EVERY == NEW_EVERY - 1 else f"[m{number}] {word}"
        yield Message(f"m{number}", chat, text)


async def _say(on: Stage, line: Line, message: Message) -> Message:
    await on.platform.deliver(line, message)
    return message


async def _traffic(on: Stage, line: Line, much: Soak, numbers: Iterator[int]) -> list[Message]:
    begin = time.monotonic()
    sent: list[Message] = []
    for message in _messages(much, numbers):
        due = begin + len(sent) / much.rate
        if due > begin + much.seconds:
            break
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        sent.append(await _say(on, line, message))
    return sent


async def _at_rest(on: Stage, line: Line, said: list[Message], name: str) -> tuple[Sample, int]:
    """The process, and its tasks, when everything so far is answered."""
    await on.platform.answered(said)
    await asyncio.sleep(0.5)
    sample = on.node.sample()
    probe = await _say(on, line, Message(name, "probe", f"[{name}] look inside"))
    await on.platform.answered([probe])
    found = TASKS.search(on.platform.shown[on.platform.answers[name][0]].body["text"])
    assert found is not None
    return sample, int(found[1])


async def _watch(on: Stage, every: float) -> None:
    while True:
        on.samples.append(on.node.sample())
        await asyncio.sleep(every)


def _slope(result: Result, samples: list[Sample], seconds: float) -> None:
    """The line through the second half of the samples."""
    half = samples[len(samples) // 2 :]
    if len(half) < 3:
        return
    mean_at = sum(s.at for s in half) / len(half)
    mean = sum(s.resident for s in half) / len(half)
    spread = sum((s.at - mean_at) ** 2 for s in half)
    slope = sum((s.at - mean_at) * (s.resident - mean) for s in half) / spread
    result.note("resident, second half", f"{_mb(half[0])} MB to {_mb(half[-1])} MB")
    result.note(
        "handles, least and most", f"{min(s.handles for s in half)}–{max(s.handles for s in half)}"
    )
    rise = slope * (half[-1].at - half[0].at) / 1e6
    if seconds >= LONG_ENOUGH:
        result.aim("memory slope, second half", slope * 3600 / 1e6, 5, "MB/h")
    else:
        result.note("memory, second half, by the fitted line", f"{rise:+.2f} MB")


def _flat(result: Result, name: str, before: int, after: int, slack: int) -> None:
    rise = [] if after <= before + slack else [f"{before} before, {after} after"]
    result.note(f"{name}, before and after", f"{before}, {after}")
    result.none(f"{name}: growth beyond {slack}", rise)


def _mb(sample: Sample) -> int:
    return round(sample.resident / 1e6)
