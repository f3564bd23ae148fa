"""A thousand chats that write now and then: how long a person waits beside what the model takes.

Every chat has had a turn before. Then messages arrive evenly, each in the next chat, whether or
not the ones before have been answered; a wait is from a message to its reply, without the model,
which answers at once. More chats write than are kept in memory, so many are read from the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from statistics import quantiles
from time import perf_counter
from typing import Any

from hookline.runtime import Runtime
from hookline_home import open_runtime, run_turn
from instant import InstantModel
from worker import Sample, work

AT_ONCE = 50
"""Chats that are begun at a time."""


async def begin(runtime: Runtime, chats: int) -> None:
    """A first turn in every chat."""
    for start in range(0, chats, AT_ONCE):
        names = [f"chat-{number}" for number in range(start, min(start + AT_ONCE, chats))]
        await asyncio.gather(*(run_turn(runtime, name) for name in names))
    await runtime.finish_background(60.0)


async def waits(runtime: Runtime, chats: int, rate: float, turns: int, first: int) -> list[float]:
    """Seconds until each reply of ``turns`` messages, ``rate`` of which arrive in a second."""
    found: list[float] = []

    async def one(number: int, due: float) -> None:
        await run_turn(runtime, f"chat-{number % chats}")
        found.append(perf_counter() - due)

    start, under_way = perf_counter(), []
    for number in range(turns):
        due = start + number / rate
        await asyncio.sleep(due - perf_counter())
        under_way.append(asyncio.create_task(one(first + number, due)))
    await asyncio.gather(*under_way)
    await runtime.finish_background(60.0)
    return found


@asynccontextmanager
async def side(job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """Prepare a job: ``chats``, ``rate`` in a second, and ``turns`` in a sample."""
    async with open_runtime("instant") as runtime:
        runtime.engine.providers.add("instant", InstantModel())
        await begin(runtime, job["chats"])
        taken = 0

        async def sample() -> Mapping[str, float]:
            nonlocal taken
            found = await waits(runtime, job["chats"], job["rate"], job["turns"], taken)
            taken += job["turns"]
            cuts = quantiles(found, n=20)
            return {"p50": cuts[9], "p95": cuts[18], "most": max(found)}

        yield {}, sample


if __name__ == "__main__":
    work(side)
