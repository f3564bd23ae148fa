"""Where Hookline's time goes in one of the jobs: ``python benchmarks/profiled.py turn openai``.

The same turns as in the benchmark of that name, under cProfile, which makes calls of small
functions look dearer than they are; what counts is the order and the share.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
from typing import Any

from hookline_side import side
from run import server
from workload import ITERATIONS

JOBS: dict[str, dict[str, Any]] = {
    "turn": {"script": "text", "history": 0, "turns": 50, "sessions": 1},
    "tools": {"script": f"tools-{ITERATIONS}", "history": 0, "turns": 3, "sessions": 1},
    "history": {"script": "text", "history": 1000, "turns": 10, "sessions": 1},
    "crowd": {"script": "text", "history": 0, "turns": 5, "sessions": 50},
}
SHOWN = 40
"""Lines of each list."""


async def profile(job: dict[str, Any]) -> cProfile.Profile:
    """The job's second sample, profiled; the first one warms up."""
    found = cProfile.Profile()
    async with side(job) as (_, sample):
        await sample()
        found.enable()
        await sample()
        found.disable()
    return found


def main() -> None:
    """Profile and print: by time in the function itself, then by time with what it calls."""
    parser = argparse.ArgumentParser(description="Profile Hookline's side of a benchmark.")
    parser.add_argument("job", choices=list(JOBS))
    parser.add_argument("wire", choices=["openai", "anthropic", "instant"])
    options = parser.parse_args()
    job = JOBS[options.job] | {"wire": options.wire}
    with server() as port:
        end = "/v1" if options.wire == "openai" else ""
        job["base_url"] = f"http://127.0.0.1:{port}/{job['script']}{end}"
        found = asyncio.run(profile(job))
    stats = pstats.Stats(found).strip_dirs()
    stats.sort_stats("tottime").print_stats(SHOWN)
    stats.sort_stats("cumtime").print_stats(SHOWN)


if __name__ == "__main__":
    main()
