"""Every benchmark, and the table of the results: ``python benchmarks/run.py``.

The method is documented in ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter

from measures import MEASURES, Bench
from table import Row, columns, markdown
from worker import HERE

SAMPLES, QUICK = 7, 3
"""Samples of each side; the median is printed."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure Hookline beside bare SDK scripts.")
    add = parser.add_argument
    add("--only", action="append", choices=list(MEASURES), help="measure this; may be repeated")
    add("--quick", action="store_true", help=f"{QUICK} samples instead of {SAMPLES}: a rough look")
    add("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    add("--markdown", action="store_true", help="print the table as Markdown")
    return parser.parse_args()


@contextmanager
def server() -> Iterator[int]:
    """The local model server in a process of its own; gives its port."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def flush_milliseconds() -> float:
    """The median time of an ``fsync`` of 4 KiB where the homes lie: a turn waits for some."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            start = perf_counter()
            os.fsync(file.fileno())
            times.append(perf_counter() - start)
    return median(times) * 1e3


def surroundings() -> str:
    """What the numbers depend on, in one line."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("openai", "anthropic"))
    return (
        f"{date.today()}, Python {platform.python_version()}, {packages}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, fsync {flush_milliseconds():.2g} ms"
    )


def measured(names: list[str], samples: int) -> Iterator[Row]:
    """The rows of the named measures, each as soon as it is known."""
    with server() as port:
        bench = Bench(port, samples)
        for name in names:
            measure, settings = MEASURES[name]
            for setting in settings:
                yield from measure(bench, setting)


def main() -> None:
    """Measure, show progress on stderr, and print the table."""
    options = arguments()
    samples = QUICK if options.quick else SAMPLES
    before = surroundings()
    sys.stderr.write(f"{before}\n")
    rows = []
    for row in measured(options.only or list(MEASURES), samples):
        rows.append(row)
        sys.stderr.write("  ".join(row.cells()) + "\n")
    form = markdown if options.markdown else columns
    sys.stdout.write(f"{form(rows)}\n\n{before}; medians of {samples}\n")
    if options.json is not None:
        found = {"surroundings": before, "rows": [row.to_json() for row in rows]}
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
