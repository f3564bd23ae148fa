"""Lanes of chats: cancelling a waiting message does not block those behind it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hookline.dispatch.lanes import Lane
from hookline.testing import ScriptedModel
from hookline_hookspecs import Inbound

Make = Callable[..., Any]
TIMEOUT = 30.0


class BlockingModel(ScriptedModel):
    """Answers once ``go_on`` is set; ``asked`` is set when the first request has arrived."""

    def __init__(self) -> None:
        super().__init__(["done"] * 9)
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    async def send(self, wire: Any, on_delta: Any) -> Any:
        self.asked.set()
        await self.go_on.wait()
        return await super().send(wire, on_delta)


def message(text: str) -> Inbound:
    return Inbound("terminal", "default", "tester", text, text)


async def loop_ticks(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("ticks", range(6))
async def test_lane_continues_after_a_waiter_is_cancelled_at_its_turn(
    harness: Make, ticks: int
) -> None:
    model = BlockingModel()
    runtime = await harness(model=model).aopen()
    submit = runtime.dispatcher.submit
    first = asyncio.create_task(submit(message("first"), "no"))
    await model.asked.wait()
    second = asyncio.create_task(submit(message("second"), "no"))
    await asyncio.sleep(0.05)
    third = asyncio.create_task(submit(message("third"), "no"))
    await asyncio.sleep(0.05)
    assert runtime.dispatcher.queued(message("")) == 2
    model.go_on.set()
    while not first.done():
        await asyncio.sleep(0)
    await loop_ticks(ticks)
    second.cancel()
    async with asyncio.timeout(TIMEOUT):
        assert (await third).turn.reply == "done"
    assert runtime.dispatcher.queued(message("")) == 0


async def test_lane_survives_two_thousand_random_cancels() -> None:
    """Every waiter that is not cancelled gets its turn, in order, and nothing stays held."""
    rng = random.Random(28)
    lane = Lane()
    order: list[int] = []

    async def work(number: int) -> None:
        async with lane.take_turn():
            order.append(number)
            await loop_ticks(rng.randrange(3))

    cancelled: set[int] = set()
    tasks: list[asyncio.Task[None]] = []
    while len(cancelled) < 2000:
        tasks.append(asyncio.create_task(work(len(tasks))))
        await loop_ticks(rng.randrange(3))
        victim = rng.randrange(max(0, len(tasks) - 4), len(tasks))
        if rng.random() < 0.7 and tasks[victim].cancel():
            cancelled.add(victim)
    async with asyncio.timeout(TIMEOUT):
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
    assert order == sorted(order)
    assert set(range(len(tasks))) - cancelled <= set(order)
    assert not lane.turn.locked()
    assert lane.queued == 0
