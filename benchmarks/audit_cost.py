"""What the audit costs a turn: `python benchmarks/audit_cost.py [TURNS]`, 300 without.

Two runtimes of one process take plain turns in turns (a message and an answer, the model in the
process), one with the plugin audit and one without, each with a SQLite home of its own; then the
same with a tool call. Printed are medians of the time until the reply, and of the CPU time of the
process for a whole turn with what follows it, in milliseconds, and their differences.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin
from hookline_hookspecs import Plugin, tool

TURNS = 300
WARM = 20


class Adds(Plugin):
    """A tool that costs nothing."""

    @tool(read_only=True)
    def add(self, left: int, right: int) -> str:
        """Add two numbers."""
        return str(left + right)


def model(turns: int, *, with_tool: bool) -> list[Any]:
    """What the model says in this many turns."""
    said: list[Any] = []
    for number in range(turns):
        said += [calls("add", left=number, right=1), "done"] if with_tool else ["done"]
    return said


def measured(turns: int, folder: Path, *, with_tool: bool) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU time in milliseconds of each turn, by runtime."""
    said = turns + WARM
    runtimes = {
        "without": Harness(Adds, home=folder / "without", model=model(said, with_tool=with_tool)),
        "with": Harness(
            AuditPlugin, Adds, home=folder / "with", model=model(said, with_tool=with_tool)
        ),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runtimes}
    gc.disable()
    try:
        for _ in range(said):
            for name, one in runtimes.items():
                wall, cpu = time.perf_counter(), time.process_time()
                one.send("hello")
                now = time.perf_counter()
                found[name].append((1000 * (now - wall), 1000 * (time.process_time() - cpu)))
            gc.collect(0)
    finally:
        gc.enable()
        for one in runtimes.values():
            one.close()
    return {name: rows[WARM:] for name, rows in found.items()}


def main() -> None:
    """Measure and print."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    sys.stdout.write(
        f"{'turn':<16}{'':<6}{'without':>9}{'with':>9}{'audit':>9}   ms, {turns} turns each\n"
    )
    for name, with_tool in (("plain", False), ("with a tool call", True)):
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(turns, Path(folder), with_tool=with_tool)
        for column, what in enumerate(("wall", "cpu")):
            base, more = (median(row[column] for row in rows[one]) for one in ("without", "with"))
            sys.stdout.write(f"{name:<16}{what:>6}{base:>9.3f}{more:>9.3f}{more - base:>9.3f}\n")


if __name__ == "__main__":
    main()
