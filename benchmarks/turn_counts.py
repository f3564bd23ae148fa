"""What a plain turn does, counted rather than timed: ``python benchmarks/turn_counts.py``.

Counts do not depend on how busy the machine is. Each is charged to the plugin whose code the bus is
running, or to core::

    plugin            writes  reads  threads  JSON  opens  stats  µs CPU
    review                 1      0        1     1      0      0      95

``writes`` and ``reads`` are functions handed to the store, ``threads`` what is submitted to any
thread, ``JSON`` values encoded, ``opens`` and ``stats`` files opened and looked at. ``µs CPU`` is
the processor time of the loop's thread while the plugin's code runs, and of what it handed to other
threads; commits are the store's. The model is in the process and answers at once, so no SDK is
counted. ``--session`` counts later turns of one session instead of first ones, ``--json`` prints
the counts of a turn as JSON (processor time in seconds).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from time import thread_time
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from hookline.runtime import Runtime
from hookline_home import open_runtime, run_turn
from instant import InstantModel

WARM_UP, TURNS = 11, 8
"""Turns before and while it is counted; the tenth turn of a session is followed by a review."""
COLUMNS = ("writes", "reads", "threads", "JSON", "opens", "stats")
SETTLED = 2.5
"""Seconds after which the files of a new home are no longer read at every look at them."""
STORE, CORE = "(store)", "(core)"


class Meter:
    """Counts by plugin while it is :attr:`on`."""

    def __init__(self, runtime: Runtime) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.on = False
        self._running: ContextVar[str] = ContextVar("running", default=CORE)
        self._loop_thread = threading.get_ident()
        self._working_for = threading.local()
        self._since = 0.0
        sys.addaudithook(self._audit)

    @property
    def who(self) -> str:
        """The plugin that the running code works for, or core."""
        if threading.get_ident() != self._loop_thread:
            return getattr(self._working_for, "plugin", STORE)
        return self._running.get()

    def add(self, what: str, amount: float = 1) -> None:
        """Charge the plugin that is running, or core."""
        if self.on:
            self.counts[self.who, what] += amount  # type: ignore[assignment]

    def switch(self) -> None:
        """Charge the loop's time so far to what has been running; called before that changes."""
        now = thread_time()
        if self.on:
            self.counts[self.who, "µs CPU"] += now - self._since  # type: ignore[assignment]
        self._since = now

    def _audit(self, event: str, _arguments: object) -> None:
        if self.on and event == "open":
            self.add("opens")

    def handed_over(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` for another thread, charged to what hands it over."""
        plugin = self.who

        def run(*args: Any, **options: Any) -> Any:
            before = getattr(self._working_for, "plugin", STORE)
            self._working_for.plugin, start = plugin, thread_time()
            try:
                return function(*args, **options)
            finally:
                if self.on:
                    self.counts[plugin, "µs CPU"] += thread_time() - start  # type: ignore[assignment]
                self._working_for.plugin = before

        return run

    @contextmanager
    def counting(self, runtime: Runtime) -> Iterator[None]:
        """Count what happens inside."""
        store = runtime.engine.journal.store
        bus, submit, encode = (
            runtime.engine.bus,
            ThreadPoolExecutor.submit,
            json.JSONEncoder.encode,
        )
        attempt, read, write, stat = (bus.attempt, store.read, store.write, os.stat)

        async def attempted(impl: Any, *args: Any) -> Any:
            self.switch()
            token = self._running.set(impl.plugin)
            try:
                return await attempt(impl, *args)
            finally:
                self.switch()
                self._running.reset(token)

        def submitted(pool: Any, function: Any, /, *args: Any, **options: Any) -> Any:
            self.add("threads")
            own = (
                getattr(function, "__self__", None) is store
                or "hookline-" in pool._thread_name_prefix
            )
            return submit(pool, function if own else self.handed_over(function), *args, **options)

        def encoded(encoder: Any, value: Any) -> str:
            self.add("JSON")
            return encode(encoder, value)

        def reading(work: Any) -> Any:
            self.add("reads")
            return read(self.handed_over(work))

        def writing(work: Any, **options: Any) -> Any:
            self.add("writes")
            return write(self.handed_over(work), **options)

        def looked(*args: Any, **options: Any) -> Any:
            self.add("stats")
            return stat(*args, **options)

        with ExitStack() as stack:
            for target, name, double in [
                (bus, "attempt", attempted),
                (ThreadPoolExecutor, "submit", submitted),
                (json.JSONEncoder, "encode", encoded),
                (store, "read", reading),
                (store, "write", writing),
                (os, "stat", looked),
            ]:
                stack.enter_context(patch.object(target, name, double))
            self._since, self.on = thread_time(), True
            yield
            self.switch()
            self.on = False


async def counted(same_session: bool, turns: int) -> dict[str, dict[str, float]]:
    """The counts of one turn by plugin."""
    async with open_runtime("instant") as runtime:
        runtime.engine.providers.add("instant", InstantModel())
        session = uuid4().hex

        async def one() -> None:
            await run_turn(runtime, session if same_session else uuid4().hex)
            await runtime.finish_background(10.0)

        await asyncio.sleep(SETTLED)
        for _ in range(WARM_UP):
            await one()
        await asyncio.sleep(1.1)  # what was put off in the warm-up is written
        meter = Meter(runtime)
        with meter.counting(runtime):
            for _ in range(turns):
                await one()
    found: dict[str, dict[str, float]] = {}
    for (plugin, what), amount in meter.counts.items():
        found.setdefault(plugin, {})[what] = round(amount / turns, 6)
    return found


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description="Count what the plugins do in a plain turn.")
    parser.add_argument("--session", action="store_true", help="later turns of one session")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(counted(options.session, options.turns))
    text = json.dumps(found, indent=2, sort_keys=True) if options.json else table(found)
    sys.stdout.write(f"{text}\n")


def table(found: dict[str, dict[str, float]]) -> str:
    """The counts of a turn as lines, the dearest plugin first."""
    names = (*COLUMNS, "µs CPU")
    lines = [f"{'plugin':<18}" + "".join(f"{name:>9}" for name in names)]
    total = {name: sum(row.get(name, 0) for row in found.values()) for name in names}
    rows = sorted(found.items(), key=lambda one: -one[1].get(names[-1], 0))
    for plugin, row in [*rows, ("all", total)]:
        cells = [f"{row.get(name, 0):>9.2f}" for name in COLUMNS]
        lines.append(f"{plugin:<18}{''.join(cells)}{row.get(names[-1], 0) * 1e6:>9.0f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
