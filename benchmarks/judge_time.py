"""What the shell judge costs per command: ``python benchmarks/judge_time.py``.

Times every command of the judge's own corpora (``plugins/tools/shell/tests/data``), ordinary and
hostile
ones, with the guarded paths and addresses that a real process has. The table is Markdown, in
milliseconds; wanted is a median and a 99th percentile of at most one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import yaml
from hookline.io.http.client import GuardedHttp
from hookline.io.http.policy import NetworkPolicy
from hookline.io.paths import PathGuard
from hookline_shell.judge import Judge

DATA = Path(__file__).parent.parent / "plugins" / "tools" / "shell" / "tests" / "data"
LIMIT = 1.0
"""Wanted milliseconds."""
ROUNDS = 5
HOSTILE = ("hostile.yaml", "redteam.yaml", "hostile.classes.yaml")
HEAD = ("corpus", "commands", "median ms", "p99 ms", "worst ms", "at most 1 ms", "worst command")
SHOWN = 60


def corpora() -> Mapping[str, list[str]]:
    """The commands by corpus, each once."""

    def read(name: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = yaml.safe_load((DATA / name).read_text("utf-8"))
        return found

    ordinary = [*filter(None, (DATA / "ordinary.txt").read_text("utf-8").splitlines())]
    ordinary += read("ordinary.more.yaml")
    ordinary += [command for part in read("everyday.classes.yaml").values() for command in part]
    tables = (read(name) for name in HOSTILE)
    hostile = [command for table in tables for part in table.values() for command in part]
    return {"ordinary": [*dict.fromkeys(ordinary)], "hostile": [*dict.fromkeys(hostile)]}


@dataclass(frozen=True)
class Timed:
    """One command and the seconds its judgement takes: the best of the rounds."""

    command: str
    seconds: float


class Bench:
    """A judge, with paths and addresses guarded as in a process of its own."""

    def __init__(self, folder: Path) -> None:
        workspace = folder / "workspace"
        workspace.mkdir()
        self._paths = PathGuard(workspace, [], folder / "home")
        self._http = GuardedHttp(NetworkPolicy())
        self._judge = Judge()

    def once(self, command: str) -> float:
        """Seconds of one judgement."""
        begin = perf_counter()
        self._judge.judge(command, self._paths, "", self._http.check_url)
        return perf_counter() - begin

    def measure(self, commands: Iterable[str], rounds: int) -> list[Timed]:
        """Every command ``rounds`` times, after a first time that is not counted."""
        timed = []
        for command in commands:
            self.once(command)
            timed.append(Timed(command, min(self.once(command) for _ in range(rounds))))
        return timed


def row(name: str, timed: Sequence[Timed]) -> tuple[str, ...]:
    """The cells of a corpus, in the order of :data:`HEAD`."""
    times = [one.seconds * 1000 for one in timed]
    p99 = statistics.quantiles(times, n=100)[98]
    worst = max(timed, key=lambda one: one.seconds)
    within = sum(time <= LIMIT for time in times) / len(times)
    shown = worst.command.replace("\n", " ").replace("|", "\\|")[:SHOWN]
    numbers = (statistics.median(times), p99, worst.seconds * 1000)
    cells = (f"{number:.3f}" for number in numbers)
    return (name, str(len(timed)), *cells, f"{within:.2%}", f"`{shown}`")


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """The table for the documentation."""
    lines = [HEAD, tuple("---" for _ in HEAD), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Measure, print the table; 1 if a corpus' 99th percentile is above the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times each command is judged")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        bench = Bench(Path(folder))
        rows = [row(name, bench.measure(found, rounds)) for name, found in corpora().items()]
    sys.stdout.write(markdown(rows) + "\n")
    return int(any(float(cells[3]) > LIMIT for cells in rows))


if __name__ == "__main__":
    sys.exit(main())
