"""A thousand sessions at once: whether all are answered, and what each takes of memory.

Every session is held inside its model call until all of them are there; memory is read at that
moment, so all of them are under way. ``rss`` is the growth of the resident set since before the
first of them (after a few turns that warm the process up), ``traced`` that of Python's own
allocations, measured in a process of its own, because tracing slows everything down.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any
from uuid import uuid4

from hookline.runtime import Runtime
from hookline_home import open_runtime, run_turn
from instant import InstantModel
from worker import Sample, work

OPEN_FILES = 1024
"""The soft limit that most Linux systems give a process."""
WAIT = 120.0
"""Seconds until all sessions must have reached the model."""


# Opened at the start: at the moment of measuring there may be no descriptor left for it.
_STATM = os.open("/proc/self/statm", os.O_RDONLY)


def resident() -> float:
    """Bytes of the resident set."""
    pages = int(os.pread(_STATM, 200, 0).split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def traced() -> float:
    """Bytes that Python has allocated."""
    return float(tracemalloc.get_traced_memory()[0])


async def warm_up(runtime: Runtime) -> None:
    """Import, connect and fill the caches that do not belong to a session."""
    for _ in range(5):
        await run_turn(runtime, uuid4().hex)
    await runtime.finish_background(10.0)
    gc.collect()


async def all_at_once(
    runtime: Runtime, model: InstantModel, sessions: int, memory: Callable[[], float]
) -> Mapping[str, float]:
    """Failures, kB a session and turns a second."""
    before = memory()
    model.hold()
    start = perf_counter()
    turns = [asyncio.create_task(run_turn(runtime, uuid4().hex)) for _ in range(sessions)]
    while model.waiting < sessions - sum(turn.done() for turn in turns):
        if perf_counter() - start > WAIT:
            break
        await asyncio.sleep(0.05)
    await runtime.engine.store.read(lambda _: None)  # what was handed over to be stored is stored
    gc.collect()
    there = max(model.waiting, 1)
    kilobytes = (memory() - before) / 1000 / there
    model.release()
    results = await asyncio.gather(*turns, return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    seconds = perf_counter() - start
    if failures:
        os.write(2, f"{len(failures)} failures, such as: {failures[0]!r}\n".encode())
    return {"failures": len(failures), "kilobytes": kilobytes, "seconds": seconds / sessions}


@asynccontextmanager
async def side(job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """Prepare a job: ``sessions``, and ``memory``, which is ``rss`` or ``traced``."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, hard), hard))
    async with open_runtime("instant") as runtime:
        model = InstantModel()
        runtime.engine.providers.add("instant", model)
        await warm_up(runtime)
        if job["memory"] == "traced":
            tracemalloc.start()
        memory = {"rss": resident, "traced": traced}[job["memory"]]

        async def sample() -> Mapping[str, float]:
            return await all_at_once(runtime, model, job["sessions"], memory)

        yield {}, sample


if __name__ == "__main__":
    work(side)
