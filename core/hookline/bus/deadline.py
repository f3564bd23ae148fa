"""Awaits a coroutine under a deadline that is armed only if it really suspends.

Most hooks return without waiting for anything. ``asyncio.timeout`` around each of them would
cost more than the hook (28 µs against 4 µs for ten, measured); so the first step is taken by
hand, and the clock starts when the coroutine asks the loop to wait.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from time import perf_counter
from typing import Any

from ..bus.watchdog import HookTimeout, Watchdog

STEP_LIMIT = 30.0
"""Seconds one step may block the event loop in a hook that has no deadline."""


async def in_time(awaitable: Awaitable[Any], deadline: float | None) -> Any:
    """The result of ``awaitable``. Raises ``HookTimeout`` past ``deadline`` seconds."""
    try:
        async with asyncio.timeout(deadline) as clock:
            return await awaitable
    except TimeoutError as error:
        if clock.expired():
            raise HookTimeout from error
        raise


@types.coroutine
def go_on(
    coroutine: Any, waiting_for: Any, watchdog: Watchdog, what: object, limit: float
) -> Generator[Any, Any, Any]:
    """What is left of a coroutine whose first step waits for ``waiting_for``.

    Hands what it waits for to the loop, and what comes back to it; each step is watched.
    """
    while True:
        try:
            value = yield waiting_for
        except BaseException as error:
            step, argument = coroutine.throw, error
        else:
            step, argument = coroutine.send, value
        before = watchdog.begin(what, perf_counter() + limit)
        try:
            waiting_for = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            watchdog.end(before)
