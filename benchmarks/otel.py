"""What the plugin ``otel`` adds to a turn: the median of turns with it and without, in turns.

``python benchmarks/otel.py [TURNS]``. A turn is a request, a tool and another request of a scripted
model; the collector is an address of this machine where nothing listens, so that each batch fails,
or with ``content`` what was said is sent too. The time is that of the whole turn, in milliseconds.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool
from hookline_otel import Otel

TURNS = 400
WARM = 20


class Look(Plugin):
    """A tool that takes no time."""

    @tool(read_only=True)
    def look(self, at: str = "") -> str:
        """Look."""
        return at


@contextmanager
def opened(folder: Path, config: dict[str, Any] | None) -> Iterator[Harness]:
    """A home with the plugin, or without it."""
    plugins = (Look,) if config is None else (Otel, Look)
    made = Harness(*plugins, home=folder, config={"otel": config} if config else {})
    try:
        yield made
    finally:
        made.close()


def one(harness: Harness) -> tuple[float, float]:
    """The milliseconds of one turn, and those of processor time that its thread took.

    A session has ten turns.
    """
    if len(harness.model.requests) % 20 == 0:
        harness.send("/new")
    harness.model.steps += [calls("look", at="here"), "seen"]
    started, spent = time.perf_counter(), time.thread_time()
    harness.send("look around")
    return (time.perf_counter() - started) * 1000, (time.thread_time() - spent) * 1000


def measured(turns: int, config: dict[str, Any]) -> None:
    """Print the medians with and without the plugin, and that of their differences."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with opened(root / "with", config) as on, opened(root / "without", None) as off:
            for harness in (on, off):
                for _ in range(WARM):
                    one(harness)
            pairs = [(one(on), one(off)) for _ in range(turns)]
            started = time.perf_counter()
        closed = time.perf_counter() - started
    suffix = " with content" if config.get("content") else ""
    sys.stdout.write(f"{turns} turns{suffix}; both closed in {closed:.2f} s\n")
    for kind, name in enumerate(("time", "processor")):
        on_, off_ = [a[kind] for a, _ in pairs], [b[kind] for _, b in pairs]
        added = [a - b for a, b in zip(on_, off_, strict=True)]
        sys.stdout.write(
            f"  {name:<9} with {median(on_):.2f} ms, without {median(off_):.2f} ms, added p50 "
            f"{median(added):.2f} ms, p90 {quantiles(added, n=10)[-1]:.2f} ms\n"
        )


def main() -> None:
    """Measure with and without content."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    for content in (False, True):
        measured(turns, {"endpoint": endpoint, "content": content})


if __name__ == "__main__":
    main()
