"""The bus alone: what a hook costs with no plugin on it, with ten ``def`` and ten ``async def``.

The hook is ``pre_tool``, a guard with a deadline of 5 s: every implementation is isolated, timed
and watched, as in a turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from hookline.bus.bus import Bus
from hookline.config import load
from hookline.runtime import Runtime
from hookline.sessions.context import TurnContext, detached_context
from hookline_hookspecs import ToolCall, hookimpl
from worker import Sample, work

CALLS = 5000
"""Calls of the hook in a sample."""
IMPLEMENTATIONS = 10


class Plain:
    """A plugin that looks at the call and does not object."""

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> None:
        """No verdict."""


class Asynchronous:
    """The same as a coroutine."""

    @hookimpl
    async def pre_tool(self, ctx: Any, call: ToolCall) -> None:
        """No verdict."""


def bus_of(kind: type[Any] | None) -> Bus:
    """A bus with ten plugins of a kind, or none."""
    bus = Bus()
    for number in range(IMPLEMENTATIONS if kind else 0):
        assert kind is not None
        bus.register(f"plugin{number}", kind(), number)
    return bus


async def microseconds(bus: Bus, ctx: TurnContext) -> float:
    """A call of the hook."""
    call = ToolCall("call_1", "read_file", {"path": "a"})
    start = perf_counter()
    for _ in range(CALLS):
        await bus.guard("pre_tool", ctx, call)
    return (perf_counter() - start) / CALLS * 1e6


@asynccontextmanager
async def side(_job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """The three buses, and a context as a turn has it."""
    buses = {"empty": bus_of(None), "sync": bus_of(Plain), "async": bus_of(Asynchronous)}
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        ctx = detached_context(Runtime(load(Path(folder), {}), Path(folder)).engine)

        async def sample() -> Mapping[str, float]:
            return {name: await microseconds(bus, ctx) for name, bus in buses.items()}

        yield {}, sample


if __name__ == "__main__":
    work(side)
