"""Every benchmark: what runs beside what, how often, and what is wanted of it.

A job, as the scripts ``*_side.py`` read it: ``wire`` (``openai``, ``anthropic`` or ``instant``),
``base_url``, ``history`` (messages before the first turn), ``turns`` in a sample (for each
session), ``sessions`` at once, and for the bare sides the ``system`` prompt and the ``tools`` that
Hookline sends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

from table import Row
from worker import HERE, Worker
from workload import ITERATIONS, NOTES, QUESTION, write_notes

Samples: TypeAlias = "dict[str, list[Mapping[str, float]]]"
Measure: TypeAlias = "Callable[[Bench, str], Iterator[Row]]"
HISTORIES = {1_000: 10, 5_000: 2, 10_000: 1}
"""Messages of a history and the turns in a sample of it: ten of them hold one review."""


@dataclass(frozen=True)
class Bench:
    """What all measures need: the server's port, and how many samples are taken."""

    port: int
    samples: int

    def url(self, wire: str, script: str) -> str:
        """The base URL of a script of the server."""
        return f"http://127.0.0.1:{self.port}/{script}" + ("/v1" if wire == "openai" else "")

    def interleave(self, sides: Mapping[str, Callable[[], Mapping[str, float]]]) -> Samples:
        """Samples by side, taken in turns; the first of each side warms up and is dropped."""
        found: Samples = {name: [] for name in sides}
        for _ in range(self.samples + 1):
            for name, sample in sides.items():
                found[name].append(sample())
        return {name: samples[1:] for name, samples in found.items()}

    def beside(self, job: Mapping[str, Any], *scripts: str) -> tuple[Samples, Mapping[str, Any]]:
        """Hookline's samples beside those of other scripts, and what the last of them reported."""
        with ExitStack() as stack:
            hookline = stack.enter_context(Worker("hookline_side.py", job))
            sides, report = {"hookline": hookline.sample}, hookline.report
            for script in scripts:
                other = stack.enter_context(Worker(script, {**job, **hookline.report}))
                sides[script.removesuffix("_side.py")] = other.sample
                report = other.report
            return self.interleave(sides), report


def middle(samples: Samples, side: str, key: str = "seconds") -> float:
    """The median of a side."""
    return median(sample[key] for sample in samples[side])


def row(
    name: str, unit: str, factor: float, samples: Samples, limit: float | None, part: str = ""
) -> Row:
    """A row of times beside the bare SDK; ``factor`` makes the unit of seconds.

    ``part`` is ``reply_`` for the time of Hookline's turns up to their replies.
    """
    floor = middle(samples, "bytes") * factor if "bytes" in samples else None
    return Row(
        name,
        unit,
        middle(samples, "hookline", f"{part}seconds") * factor,
        middle(samples, "bare") * factor,
        floor,
        middle(samples, "hookline", f"{part}cpu") / middle(samples, "bare", "cpu"),
        limit,
        samples={} if part else samples,
    )


def both(
    name: str, unit: str, factor: float, samples: Samples, limits: tuple[float, float]
) -> Iterator[Row]:
    """Rows of turns up to their replies, and with everything that follows."""
    yield row(f"{name}, to the reply", unit, factor, samples, limits[0], "reply_")
    yield row(name, unit, factor, samples, limits[1])


def turn(bench: Bench, wire: str) -> Iterator[Row]:
    """A warm turn in a session without history."""
    job: dict[str, Any] = {"wire": wire, "base_url": bench.url(wire, "text")}
    job |= {"history": 0, "turns": 20, "sessions": 1}
    samples, _ = bench.beside(job, "bare_side.py", "bytes_side.py")
    limits = {"openai": (1.6, 1.8), "anthropic": (2.6, 3.0)}[wire]
    yield from both(f"warm turn, {wire}", "ms a turn", 1e3, samples, limits)


def follow_up(bench: Bench, wire: str) -> Iterator[Row]:
    """A turn in a session of some ten messages: no session is begun."""
    job: dict[str, Any] = {"wire": wire, "base_url": bench.url(wire, "text")}
    job |= {"history": 10, "turns": 5, "sessions": 1}
    samples, _ = bench.beside(job, "bare_side.py")
    limits = {"openai": (1.6, 1.8), "anthropic": (2.6, 3.0)}[wire]
    yield from both(f"turn in a session under way, {wire}", "ms a turn", 1e3, samples, limits)


def tools(bench: Bench, wire: str) -> Iterator[Row]:
    """A turn with 20 tool calls, one a response."""
    job: dict[str, Any] = {"wire": wire, "base_url": bench.url(wire, f"tools-{ITERATIONS}")}
    job |= {"history": 0, "turns": 1, "sessions": 1}
    samples, _ = bench.beside(job, "bare_side.py")
    limit = {"openai": 0.4, "anthropic": 1.4}[wire]
    name = f"{ITERATIONS} tool iterations, {wire}"
    yield from both(name, "ms an iteration", 1e3 / ITERATIONS, samples, (limit, limit))


def long_history(bench: Bench, wire: str) -> Iterator[Row]:
    """Turns of sessions with long histories, and how much grows beside the bytes."""
    limit = {"openai": 0.05, "anthropic": 0.6}[wire]
    own: list[float] = []
    for messages, turns in HISTORIES.items():
        job: dict[str, Any] = {"wire": wire, "base_url": bench.url(wire, "text")}
        job |= {"history": messages, "turns": turns, "sessions": 1}
        samples, report = bench.beside(job, "bare_side.py", "bytes_side.py")
        name = f"turn at {messages:,} messages ({report['bytes'] / 1e6:.1f} MB), {wire}"
        rows = [*both(name, "ms a turn", 1e3, samples, (limit, limit))]
        yield from rows
        assert rows[-1].floor is not None
        own.append(rows[-1].hookline - rows[-1].floor)
    grown = (own[-1] - own[0]) / (max(HISTORIES) - min(HISTORIES)) * 1000
    name = f"growth beyond the bytes, {wire}"
    yield Row(name, "ms per 1,000 messages", grown, limit=0.5, judged="value")


def crowd(bench: Bench, wire: str) -> Iterator[Row]:
    """50 sessions at once, five turns each."""
    job: dict[str, Any] = {"wire": wire, "history": 0, "turns": 5, "sessions": 50}
    if wire == "instant":
        samples, _ = bench.beside(job)
        bare = cpu_ratio = None
    else:
        job["base_url"] = bench.url(wire, "text")
        samples, _ = bench.beside(job, "bare_side.py")
        bare = 1 / middle(samples, "bare")
        cpu_ratio = middle(samples, "hookline", "cpu") / middle(samples, "bare", "cpu")
    where = "model in the process" if wire == "instant" else wire
    yield Row(
        f"50 sessions at once, {where}",
        "turns/s",
        1 / middle(samples, "hookline"),
        bare,
        cpu_ratio=cpu_ratio,
        limit=600 if wire == "instant" else None,
        judged="value" if wire == "instant" else "ratio",
        better="more",
        samples=samples,
    )
    used = middle(samples, "hookline", "cpu") * 1e3
    name = f"50 sessions at once, {where}: CPU"
    yield Row(name, "ms a turn", used, limit=4.5, judged="value")


def thousand(bench: Bench, _setting: str) -> Iterator[Row]:
    """1,000 sessions at once: failures and memory, each sample in a fresh process."""
    sessions = 1000
    samples: Samples = {"rss": [], "traced": []}
    for _ in range(bench.samples):
        for memory, found in samples.items():
            with Worker("memory_side.py", {"sessions": sessions, "memory": memory}) as worker:
                found.append(worker.sample())
    failed = max(sample["failures"] for side in samples.values() for sample in side)
    name = f"{sessions:,} sessions at once"
    yield Row(f"{name}: failures", "of 1,000", failed, limit=0, judged="value", samples=samples)
    for memory, words in {"rss": "resident", "traced": "Python's own"}.items():
        value = middle(samples, memory, "kilobytes")
        limit = 40.0 if memory == "rss" else None
        yield Row(f"{name}: {words}", "kB a session", value, limit=limit, judged="value")


def pace(bench: Bench, _setting: str) -> Iterator[Row]:
    """1,000 chats with 50 messages a second between them."""
    job = {"chats": 1000, "rate": 50.0, "turns": 500}
    with Worker("pace_side.py", job) as worker:
        samples = bench.interleave({"hookline": worker.sample})
    name = f"{job['chats']:,} chats, {job['rate']:g} turns a second"
    yield Row(f"{name}: median wait", "ms", middle(samples, "hookline", "p50") * 1e3)
    p95 = middle(samples, "hookline", "p95") * 1e3
    yield Row(f"{name}: p95", "ms", p95, limit=50.0, judged="value", samples=samples)


def process(
    command: Sequence[str], environment: Mapping[str, str], folder: str | None = None
) -> Mapping[str, float]:
    """Seconds and processor seconds of a process from its start to its end."""
    before, start = os.times(), perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(
        command, env=dict(environment), check=True, stdout=quiet, stdin=quiet, cwd=folder
    )
    after, seconds = os.times(), perf_counter() - start
    cpu = after.children_user + after.children_system
    return {"seconds": seconds, "cpu": cpu - before.children_user - before.children_system}


def hookline_command() -> str:
    """The console script beside this interpreter."""
    return str(Path(sys.executable).with_name("hookline"))


@cache
def compile_all() -> None:
    """Write the bytecode of everything that is installed, as a package installer does.

    The quiet switch hides files that are not Python 3, which some packages carry as data. The
    variable would make each process compile anew what it imports.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sources = [HERE.parent / name for name in ("core", "hookspecs", "plugins")]
    roots = [*map(str, sources), sysconfig.get_path("purelib")]
    command = [sys.executable, "-m", "compileall", "-qq", *roots]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def cold(bench: Bench, wire: str) -> Iterator[Row]:
    """A one-shot run as a process beside a bare script; the bytecode of both is there."""
    compile_all()
    url = bench.url(wire, "text")
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        environment = {**os.environ, "HOOKLINE_HOME": folder, "HOOKLINE_STRICT": "0"}
        variable = f"{wire.upper()}_"
        environment |= {f"{variable}BASE_URL": url, f"{variable}API_KEY": "bench"}
        run = [hookline_command(), "run", "--model", f"{wire}/bench", QUESTION]
        script = [sys.executable, str(HERE / f"cold_{wire}.py"), url, QUESTION]
        sides = {
            "hookline": lambda: process(run, environment),
            "bare": lambda: process(script, environment),
        }
        samples = bench.interleave(sides)
    yield row(f"cold one-shot, {wire}", "ms a run", 1e3, samples, 1.1)


def reads(bench: Bench, wire: str) -> Iterator[Row]:
    """A one-shot run whose model reads three files, beside a script that does the same."""
    compile_all()
    url = bench.url(wire, f"reads-{len(NOTES)}")
    with (
        tempfile.TemporaryDirectory(prefix="hookline-bench-") as home,
        tempfile.TemporaryDirectory() as notes,
    ):
        write_notes(Path(notes))
        environment = {**os.environ, "HOOKLINE_HOME": home, "HOOKLINE_STRICT": "0"}
        environment |= {f"{wire.upper()}_BASE_URL": url, f"{wire.upper()}_API_KEY": "bench"}
        run = [hookline_command(), "run", "--model", f"{wire}/bench", QUESTION]
        script = [sys.executable, str(HERE / f"reads_{wire}.py"), url, QUESTION]
        sides = {
            "hookline": lambda: process(run, environment, notes),
            "bare": lambda: process(script, environment, notes),
        }
        samples = bench.interleave(sides)
    yield row(f"cold one-shot, {len(NOTES)} files read, {wire}", "ms a run", 1e3, samples, 1.3)


def start(bench: Bench, flag: str) -> Iterator[Row]:
    """A flag of the command line beside an interpreter that does nothing."""
    compile_all()
    sides = {
        "hookline": lambda: process([hookline_command(), flag], os.environ),
        "bare": lambda: process([sys.executable, "-c", "pass"], os.environ),
    }
    limit = {"--version": 6.0, "--help": 30.0}[flag]
    yield row(f"hookline {flag}", "ms", 1e3, bench.interleave(sides), limit)


def dispatch(bench: Bench, _setting: str) -> Iterator[Row]:
    """The bus: a hook with no plugin, with ten functions, and with ten coroutines."""
    with Worker("dispatch_side.py", {}) as worker:
        samples = bench.interleave({"hookline": worker.sample})
    for key, words, limit in [
        ("empty", "an empty hook", 1.0),
        ("sync", "ten def", 15.0),
        ("async", "ten async def", 15.0),
    ]:
        value = middle(samples, "hookline", key)
        yield Row(f"dispatch, {words}", "µs", value, limit=limit, judged="value")


WIRES = ("openai", "anthropic")
MEASURES: Mapping[str, tuple[Measure, Sequence[str]]] = {
    "turn": (turn, WIRES),
    "session": (follow_up, WIRES),
    "tools": (tools, WIRES),
    "history": (long_history, WIRES),
    "cold": (cold, WIRES),
    "reads": (reads, WIRES),
    "start": (start, ("--version", "--help")),
    "crowd": (crowd, ("instant", *WIRES)),
    "thousand": (thousand, ("",)),
    "pace": (pace, ("",)),
    "dispatch": (dispatch, ("",)),
}
"""What ``--only`` names, and what each is run with."""
