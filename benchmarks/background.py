"""What a turn waits for a review: ``python benchmarks/background.py``.

One process, the standard set on, a model in the process. Turns of one session are timed alone and
beside a review of another session of 1,000 messages, in turns. The review is the plugin's own: it
copies the session, asks a model that thinks for ``--think`` seconds, and writes a fact with each
response until it has made all its calls; then the next one begins.

``--profile`` instead prints what of a review held the loop for longer than 5 ms, by the stack that
held it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from statistics import median, quantiles
from time import perf_counter, time
from typing import Any

from hookline.runtime import Runtime
from hookline_home import open_runtime, run_turn
from hookline_hookspecs import DeltaSink, ModelResponse, Session, ToolCall, Usage, WireRequest
from hookline_side import HISTORY_SESSION, write_history
from instant import InstantModel

MESSAGES, ROUNDS, TURNS = 1_000, 5, 60
"""Of the reviewed session; how often the two are alternated; turns of each in a round."""
WARM_UP, LIMIT = 20, 1.2
HELD = 0.005
"""Seconds for which the loop may be held before it is reported."""
OWN = "bench-turns"


class ReviewedModel(InstantModel):
    """Answers turns at once, and each request of a review after a while with a fact."""

    def __init__(self, think: float) -> None:
        super().__init__()
        self._think = think
        self._number = count()

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """The answer, or a call of the tool ``memory``."""
        if wire.session_id in (OWN, HISTORY_SESSION) or wire.purpose != "turn":
            return await super().send(wire, on_delta)
        await asyncio.sleep(self._think)
        number = next(self._number)
        text = f"Release {number} ships on day {number}."
        fact = {"action": "remember", "content": text, "category": "knowledge"}
        call = ToolCall(f"call_{number}", "memory", fact)
        return ModelResponse((call,), "tools", Usage(100, 10))


async def reviews(runtime: Runtime) -> None:
    """Review the long session again and again."""
    from hookline_review.due_reviews import DueReview

    plugin: Any = runtime.plugins.statuses["review"].plugin
    now = time()
    session = Session(HISTORY_SESSION, "terminal", "bench", None, now, resumed=True)
    due = DueReview(session, "instant/bench", ("memory",), (), now, 0, now, "")
    reviewers = [one for one in plugin._reviewers if one.name == "memory"]
    while True:
        await plugin._ask(due, reviewers)
        await asyncio.sleep(0)


@asynccontextmanager
async def under_way(runtime: Runtime) -> AsyncIterator[None]:
    """Reviews go on meanwhile."""
    task = asyncio.create_task(reviews(runtime))
    await asyncio.sleep(0.05)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def turns(runtime: Runtime, number: int) -> list[float]:
    """Milliseconds of each of this many turns, with a pause after each."""
    found = []
    for _ in range(number):
        begin = perf_counter()
        await run_turn(runtime, OWN)
        found.append((perf_counter() - begin) * 1e3)
        await asyncio.sleep(0.01)
    return found


class Holder:
    """Notes what the loop's thread was doing whenever it did not come back in time."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._thread = threading.get_ident()
        self._seen = perf_counter()
        self._ended = False

    async def beat(self) -> None:
        """Come back every millisecond."""
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            while True:
                self._seen = perf_counter()
                await asyncio.sleep(0.001)
        finally:
            self._ended = True

    def _watch(self) -> None:
        while not self._ended:
            threading.Event().wait(0.001)
            if perf_counter() - self._seen > HELD:
                frames = traceback.extract_stack(sys._current_frames()[self._thread])
                own = [f for f in frames if "hookline" in f.filename or "aiosql" in f.filename]
                places = [f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in own[-4:]]
                self.found[" < ".join(reversed(places))] += 1


async def measure(options: argparse.Namespace) -> None:
    """Time the turns, or look at what holds them up."""
    async with open_runtime("instant") as runtime:
        runtime.engine.providers.add("instant", ReviewedModel(options.think))
        await write_history(runtime, MESSAGES)
        await turns(runtime, WARM_UP)
        if options.profile:
            holder = Holder()
            async with under_way(runtime):
                beat = asyncio.create_task(holder.beat())
                await asyncio.sleep(10)
                beat.cancel()
            for place, times in holder.found.most_common(15):
                sys.stdout.write(f"{times:5} ms  {place}\n")
            return
        alone: list[float] = []
        beside: list[float] = []
        for _ in range(ROUNDS):
            alone += await turns(runtime, TURNS)
            async with under_way(runtime):
                beside += await turns(runtime, TURNS)
    report(alone, beside)


def report(alone: list[float], beside: list[float]) -> None:
    """Print the two distributions."""
    rows = {"alone": alone, "beside a review": beside}
    p95 = {}
    sys.stdout.write(f"{'ms a turn':16} median    p95  worst\n")
    for name, found in rows.items():
        p95[name] = quantiles(found, n=20)[-1]
        figures = f"{median(found):6.1f} {p95[name]:6.1f} {max(found):6.1f}"
        sys.stdout.write(f"{name:16} {figures}\n")
    ratio = p95["beside a review"] / p95["alone"]
    met = "met" if ratio <= LIMIT else "missed"
    sys.stdout.write(f"p95: {ratio:.2f} x (wanted: at most {LIMIT} x, {met})\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time turns beside a review.")
    parser.add_argument("--think", type=float, default=0.5, help="seconds of each response")
    parser.add_argument("--profile", action="store_true", help="show what holds the loop")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
