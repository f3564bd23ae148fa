"""A gateway with the standard set and Telegram that has nothing to do, on one processor."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from support.channels.plugin_fakes import bot_api

from .platform import Message
from .result import Result
from .stage import Stage, stage
from .wire import Line


@dataclass
class Idle:
    """How long it is watched, in seconds."""

    seconds: float = 3.0
    standard: bool = True
    telegram: bool = True


SHORT = Idle()
LONG = Idle(seconds=60.0)


async def run(seed: int, much: Idle) -> Result:
    """Run the scenario."""
    result = Result("idle")
    async with stage(seed, standard=much.standard) as on, _telegram(on, much.telegram):
        if taskset := shutil.which("taskset"):
            processor = min(os.sched_getaffinity(0))
            on.node.prefix = (taskset, "-c", str(processor))
        result.note("processors", 1 if taskset else "all; taskset is not installed")
        result.note("ready after", f"{await on.node.start():.2f} s")
        first = on.node.sample()
        await asyncio.sleep(much.seconds)
        last = on.node.sample()
        spent = (last.cpu - first.cpu) / (last.at - first.at) * 100
        result.note("processor while idle", f"{spent:.2f} %")
        result.note("threads", last.threads)
        result.note("open handles", last.handles)
        result.aim("resident", last.resident / 1e6, 150, "MB")
        await _one_turn(on)
        turned = on.node.sample()
        result.aim("resident after a turn", turned.resident / 1e6, 150, "MB")
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        result.note("home on disk", f"{_size(on.node.home) / 1e6:.1f} MB")
        result.must("database", "whole" if on.node.is_whole() else "damaged", "whole")
    result.note("python", sys.version.split()[0])
    return result


@asynccontextmanager
async def _telegram(on: Stage, wanted: bool) -> AsyncIterator[None]:
    """Telegram is on, and asks a server that has nothing to say."""
    if not wanted:
        yield
        return
    api = bot_api.BotApi()
    urls = {"base_url": api.base_url, "base_file_url": api.base_file_url}
    on.node.configure(telegram={"token": bot_api.TOKEN, **urls})
    try:
        yield
    finally:
        api.close()


async def _one_turn(on: Stage) -> None:
    """A message and its answer: what is imported at first use is imported now."""
    message, line = Message("m0", "c0", "[m0] hello"), Line(on.node.port)
    await on.platform.deliver(line, message)
    line.close()
    await on.platform.answered([message])


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
