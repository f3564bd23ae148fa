"""Another checkout beside this one and the bare SDK.

``python benchmarks/compare.py DIR turn openai``: processor time of one turn (of one tool call for
``tools``), sampled in turns in one run. The smallest of many samples is the one that other programs
disturbed least, so it is shown beside the median.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from profiled import JOBS
from run import server
from worker import HERE, Worker
from workload import ITERATIONS

TURNS = {"turn": 20, "tools": 1, "history": 10, "crowd": 5}
KEYS = {"reply_cpu": "to the reply", "cpu": "with all that follows"}


def sources(checkout: Path) -> str:
    """A ``PYTHONPATH`` that has the packages of a checkout before the installed ones."""
    folders = [checkout / "core", checkout / "hookspecs", *sorted(checkout.glob("plugins/**/src"))]
    return os.pathsep.join(str(folder) for folder in folders)


def sampled(job: Mapping[str, Any], other: Path, samples: int) -> dict[str, list[Any]]:
    """The samples of the other checkout, of this one and of the bare SDK; the first is dropped."""
    with ExitStack() as stack:
        sides: dict[str, Worker] = {}
        for name, checkout in {"other": other, "this": HERE.parent}.items():
            os.environ["PYTHONPATH"] = sources(checkout.resolve())
            script = checkout.resolve() / "benchmarks" / "hookline_side.py"
            sides[name] = stack.enter_context(Worker(str(script), job))
        if job["wire"] != "instant":
            report = sides["this"].report
            sides["bare"] = stack.enter_context(Worker("bare_side.py", {**job, **report}))
        found: dict[str, list[Any]] = {name: [] for name in sides}
        for _ in range(samples + 1):
            for name, side in sides.items():
                found[name].append(side.sample())
        return {name: samples[1:] for name, samples in found.items()}


def main() -> None:
    """Sample, and print the smallest and the median of each side in milliseconds."""
    parser = argparse.ArgumentParser(description="Compare two checkouts beside the bare SDK.")
    parser.add_argument("other", type=Path, help="the other checkout, such as a git worktree")
    parser.add_argument("job", choices=list(JOBS))
    parser.add_argument("wire", choices=["openai", "anthropic", "instant"])
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()
    job = JOBS[options.job] | {"wire": options.wire, "turns": TURNS[options.job]}
    with server() as port:
        end = "/v1" if options.wire == "openai" else ""
        job["base_url"] = f"http://127.0.0.1:{port}/{job['script']}{end}"
        found = sampled(job, options.other, options.samples)
    factor = 1e3 / (ITERATIONS if options.job == "tools" else 1)
    for key, words in KEYS.items():
        for name, samples in found.items():
            if values := [sample[key] * factor for sample in samples if key in sample]:
                line = f"{words:22} {name:6} {min(values):7.2f} {median(values):7.2f} ms CPU\n"
                sys.stdout.write(line)


if __name__ == "__main__":
    main()
