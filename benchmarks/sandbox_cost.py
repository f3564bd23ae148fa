"""What the sandbox costs a call: `python benchmarks/sandbox_cost.py [CALLS]`, 60 without.

Runs `bash -c :` through the runner of the shell plugin, as a turn does: bare, sandboxed by
bubblewrap without and with the guarded network, and by Landlock. The ways take turns call by call,
so that what else the machine does falls on all of them alike; the median of each and its difference
to bare are printed, in milliseconds. The first call of each, which fills caches, is not counted.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median

from hookline_sandbox import Method, Places, Sandbox, allowed, methods
from hookline_sandbox.proxy import Proxy
from hookline_shell.command_runner import run_command
from hookline_toolmark import mark_command

COMMAND = ["/bin/bash", "-c", ":"]
CALLS = 60


class Nowhere:
    """A dialer that is never asked."""

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise OSError


def ways(workspace: Path) -> dict[str, Callable[[], Awaitable[None]]]:
    """What is compared, by name; a method that does not work here is left out."""
    environment = allowed(os.environ)
    places = Places(workspace, workspace, lambda path: None)

    async def bare() -> None:
        await run_command(mark_command(COMMAND), workspace, environment, 60, 10_000)

    def sandboxed(method: Method, dialer: Nowhere | None = None) -> Callable[[], Awaitable[None]]:
        sandbox = Sandbox(workspace / "home", method=method)

        async def call() -> None:
            async with Proxy(dialer) if dialer else nullcontext() as proxy:
                socket = proxy.socket if proxy else None
                argv = sandbox.wrapped(COMMAND, places, environment, "key", socket)
                inner = sandbox.environment(environment, "key", socket)
                outcome = await run_command(argv, workspace, inner, 60, 10_000)
            assert outcome.exit_code == 0, outcome.text

        return call

    found: dict[str, Callable[[], Awaitable[None]]] = {"bare": bare}
    if methods.found().method is Method.BUBBLEWRAP:
        found["bubblewrap"] = sandboxed(Method.BUBBLEWRAP)
        found["bubblewrap, guarded network"] = sandboxed(Method.BUBBLEWRAP, Nowhere())
    if sys.platform == "linux":
        found["Landlock"] = sandboxed(Method.LANDLOCK)
    return found


async def measured(calls: int) -> dict[str, float]:
    """Milliseconds of the median call, by way."""
    with tempfile.TemporaryDirectory() as folder:
        compared = ways(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in compared}
        for _ in range(calls + 1):
            for name, call in compared.items():
                start = time.perf_counter()
                await call()
                times[name].append((time.perf_counter() - start) * 1000)
    return {name: median(taken[1:]) for name, taken in times.items()}


def main() -> None:
    """Print the table."""
    found = asyncio.run(measured(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS))
    for name, taken in found.items():
        print(f"{name:30} {taken:7.1f} ms   {taken - found['bare']:+6.1f} ms")  # noqa: T201


if __name__ == "__main__":
    main()
