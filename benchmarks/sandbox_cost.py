"""What the sandbox costs a command: `python benchmarks/sandbox_cost.py [CALLS]`, 60 without.

Runs `:` through the runner of the shell plugin, as a turn does: bare, in the running sandbox of a
session without and with the guarded network, and by Landlock, which confines each command by
itself. The workspace is a repository of 200 files. The ways take turns call by call, so that what
else the machine does falls on all of them alike; the median of each and its difference to bare are
printed, in milliseconds. The first call of each, which starts the sandbox, is printed apart.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any
from unittest import mock

from hookline.testing import guarded_paths
from hookline_sandbox import Found, Method, allowed, methods
from hookline_shell.command_runner import on_host, run_command
from hookline_shell.config import SandboxConfig
from hookline_shell.sandbox_runner import SandboxRunner
from hookline_toolmark import mark_command

COMMAND = ["/bin/bash", "-c", ":"]
CALLS = 60
LIMITS = (60.0, 10_000)
Way = Callable[[], Awaitable[None]]


def ways(workspace: Path, runners: list[SandboxRunner]) -> dict[str, Way]:
    """What is compared, by name; a method that does not work here is left out."""
    environment = allowed(os.environ)
    paths = guarded_paths(workspace, workspace.parent / "home")

    async def bare() -> None:
        await run_command(on_host(mark_command(COMMAND), workspace, environment), *LIMITS)

    def sandboxed(name: str, method: Method, *, network: bool = False) -> Way:
        services = SimpleNamespace(get=lambda protocol: None)
        host: Any = SimpleNamespace(home=workspace.parent / "home", http=None, services=services)
        runner = SandboxRunner(SandboxConfig(network="guarded" if network else "none"), host)
        runners.append(runner)
        session = SimpleNamespace(id=name)
        ctx: Any = SimpleNamespace(
            paths=paths, session=session, operator=True, notify=print, approval="no", approved=False
        )

        async def call() -> None:
            here = Found(method)
            with (
                mock.patch("hookline_shell.sandbox_runner.found", return_value=here),
                mock.patch("hookline_sandbox.sandbox.found", return_value=here),
            ):
                done = await runner.run(ctx, COMMAND, workspace, environment, LIMITS)
            assert done.result.exit_code == 0, done.result.text

        return call

    compared: dict[str, Way] = {"bare": bare}
    if (best := methods.found().method) is Method.BUBBLEWRAP:
        compared["a session's sandbox"] = sandboxed("s", best)
        compared["the same, guarded network"] = sandboxed("n", best, network=True)
    if sys.platform == "linux":
        compared["Landlock"] = sandboxed("l", Method.LANDLOCK)
        compared["Landlock, guarded network"] = sandboxed("m", Method.LANDLOCK, network=True)
    return compared


def make_repository(folder: Path) -> None:
    """Make a repository of 200 files in 20 folders."""
    for number in range(200):
        file = folder / f"folder{number % 20}" / f"{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


async def measured(calls: int, workspace: Path) -> dict[str, list[float]]:
    """Milliseconds of every call, by way."""
    runners: list[SandboxRunner] = []
    compared = ways(workspace, runners)
    times: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(calls + 1):
        for name, call in compared.items():
            start = time.perf_counter()
            await call()
            times[name].append((time.perf_counter() - start) * 1000)
    for runner in runners:
        await runner.close()
    return times


def main() -> None:
    """Print the table."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder).resolve() / "work"
        make_repository(workspace)
        found = asyncio.run(measured(calls, workspace))
    bare = median(found["bare"][1:])
    for name, taken in found.items():
        usual = median(taken[1:])
        line = f"{name:28} {usual:7.1f} ms   {usual - bare:+6.1f} ms   first {taken[0]:7.1f} ms"
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
