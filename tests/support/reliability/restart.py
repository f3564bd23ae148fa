"""A large store and a backlog: how long until the first message of it is answered."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from statistics import median

from .fill import add_backlog, fill
from .platform import Message
from .result import Result, percentile
from .stage import Stage, judge_replies, stage
from .wire import Line


@dataclass
class Restart:
    """``size`` of the store in MB; ``backlog`` messages wait at each of ``times`` starts."""

    size: int = 20
    times: int = 3
    backlog: int = 20
    standard: bool = False


SHORT = Restart()
LONG = Restart(size=1000, times=20)


async def run(seed: int, much: Restart) -> Result:
    """Run the scenario."""
    result = Result("restart")
    async with stage(seed, standard=much.standard) as on:
        await _first_turn(on)
        filled = time.monotonic()
        chats = fill(on.node.database, much.size * 1_000_000, on.seed)
        result.note("store", f"{on.node.database.stat().st_size / 1e6:.0f} MB, {chats} sessions")
        result.note("filled in", f"{time.monotonic() - filled:.0f} s")
        messages: list[Message] = []
        seconds, ready = [], []
        for number in range(much.times):
            picked = on.seed.sample(range(chats), min(much.backlog, chats))
            waiting = [Message(f"b{number}n{n}", f"old{chat}", "") for n, chat in enumerate(picked)]
            add_backlog(on.node.database, [m.id for m in waiting], [m.chat for m in waiting])
            _forget_cache(on)
            begin = time.monotonic()
            starting = asyncio.create_task(on.node.start())
            await on.platform.answered(waiting)
            ready.append(await starting)
            shown = [on.platform.shown[on.platform.answers[m.id][0]].at for m in waiting]
            seconds.append(min(shown) - begin)
            messages += waiting
            result.must(f"exit code after SIGTERM, start {number + 1}", await on.node.stop(), 0)
        result.rows = [row for row in result.rows if row.ok is not True]
        result.note("starts", much.times)
        result.note("ready, median", f"{median(ready):.2f} s")
        result.note("first answer, median", f"{median(seconds):.2f} s")
        result.aim("first answer, p95", percentile(seconds, 0.95), 3, "s")
        judge_replies(result, on, messages)
    return result


async def _first_turn(on: Stage) -> None:
    """The turn that is the pattern of all others."""
    await on.node.start()
    message, line = Message("m0", "pattern", "[m0] hello"), Line(on.node.port)
    await on.platform.deliver(line, message)
    line.close()
    await on.platform.answered([message])
    await on.node.stop()


def _forget_cache(on: Stage) -> None:
    """Ask the system to drop the store from its cache, as after a reboot."""
    handle = os.open(on.node.database, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
