"""What the guards cost: one tool call with and without them.

``python benchmarks/guard_chain.py`` prints a Markdown table. A turn makes 200 calls of a tool that
does nothing, each alone in its response, through the whole of core (a model in memory, the journal
in a real SQLite file): once with nothing around it and once with every standard plugin that sees
tool calls. The calls differ, so the circuit breaker does not stop them. Medians of seven turns,
interleaved; what a call costs more is the chain. Wanted: at most 1 ms.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter
from typing import Any

from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

CALLS, TURNS = 200, 7
CHAIN = ("guardrails", "approvals", "subdir-hints", "artifacts", "tool-cache", "shell", "review")
"""Plugins of the standard set that see tool calls."""


class Nothing(Plugin):
    """A tool that does nothing."""

    @tool
    async def nothing(self, number: int) -> str:
        """Do nothing."""
        return "done"


def call_seconds(*plugins: Any) -> float:
    """Seconds of one call, in a turn of :data:`CALLS`."""
    script = [*[calls("nothing", number=n) for n in range(CALLS)], "ok"]
    options = {"model": ["warm", *script], "core": {"max_iterations": CALLS + 1}}
    with tempfile.TemporaryDirectory() as home:
        h = Harness(*plugins, Nothing, home=Path(home), **options)
        try:
            h.send("warm up", session="other")
            gc.collect()
            start = perf_counter()
            outcome = h.send("go", approve="no")
            seconds = perf_counter() - start
        finally:
            h.close()
    assert outcome.text == "ok", outcome.text
    assert all(result.ok for result in outcome.tool_calls)
    return seconds / CALLS


def main() -> None:
    """Measure and print."""
    found = {ep.name: ep for ep in entry_points(group="hookline.plugins")}
    chain = [found[name].load() for name in CHAIN]
    bare, guarded = [], []
    for _ in range(TURNS):
        bare.append(call_seconds())
        guarded.append(call_seconds(*chain))
    without, guards = (statistics.median(times) * 1000 for times in (bare, guarded))
    rows = [
        ("a tool call, with its model call and journal", "ms"),
        ("---", "---"),
        ("nothing around it", f"{without:.2f}"),
        (", ".join(CHAIN), f"{guards:.2f}"),
        ("**what the chain adds** (wanted: at most 1)", f"**{guards - without:.2f}**"),
    ]
    sys.stdout.write("".join(f"| {name} | {value} |\n" for name, value in rows))


if __name__ == "__main__":
    main()
