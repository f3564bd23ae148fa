"""What a checkpoint costs: ``python benchmarks/checkpoint_time.py``.

A folder of 5,000 text files of about 1.4 KB in 550 folders. Measured is what the first write of a
turn waits for: the plugin's snapshot with its locks, its rules (excluded folders, secrets,
``.gitignore``) and its state on disk. Beside it, over the same files in a repository of its own, is
what one would type: ``git add -A`` and ``git commit``, two processes that know no rules but
``.gitignore`` and save neither modes in full nor empty folders. Samples are taken in turns; the
first of each side warms up and is dropped.

- **first**: a home without a store, and a folder without ``.git``.
- **ten changed**: ten files were written since; every sample changes other content.
- **nothing changed**: what a turn costs that follows one that wrote nothing.

Files must be older than two seconds when they are first saved; younger ones are read again by the
next snapshot (git does the same with what it calls racy entries). The script waits for that once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from hookline.io.paths import PathGuard
from hookline_checkpoints import CheckpointsConfig
from hookline_checkpoints.snapshot_manager import Chat, SnapshotManager
from measures import Bench, Samples, middle
from run import QUICK, SAMPLES, surroundings
from table import Row, columns, markdown

FILES, CHANGED = 5_000, 10
LIMIT = 100.0
"""Wanted milliseconds for ten changed files."""
OLD_ENOUGH = 2.5
CHAT = Chat("terminal", "default")


class Ours:
    """The plugin's snapshots of ``work``, in a home of its own."""

    def __init__(self, work: Path, home: Path) -> None:
        self._work = work
        self._home = home
        self._paths = PathGuard(work, [], home)
        self._keeper = SnapshotManager(home, CheckpointsConfig())

    def reset(self) -> None:
        """Be a home that has never saved anything."""
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir()
        self._keeper = SnapshotManager(self._home, CheckpointsConfig())

    def save(self) -> None:
        """One snapshot."""
        asyncio.run(self._save())

    async def _save(self) -> None:
        scope = self._keeper.scope(self._work, self._paths)
        async with self._keeper.holding(self._work):
            present, _ = await self._keeper.save(scope, CHAT, time.time(), {"title": "benchmark"})
        if len(present.files) != FILES:
            raise SystemExit(f"checkpoint_time: {len(present.files)} files were saved")


class Plain:
    """``git add -A`` and ``git commit`` in ``work`` itself."""

    def __init__(self, work: Path) -> None:
        self._work = work

    def reset(self) -> None:
        """Be a folder without a repository."""
        shutil.rmtree(self._work / ".git", ignore_errors=True)

    def save(self) -> None:
        """One commit; the first one makes the repository, too."""
        if not (self._work / ".git").is_dir():
            self._git("init", "-q")
        self._git("add", "-A")
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        self._git(*identity, "commit", "-q", "--allow-empty", "-m", "benchmark")

    def _git(self, *words: str) -> None:
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *words], cwd=self._work, env={**os.environ, **quiet}, check=True)


class Files:
    """The files of one side."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self._random = random.Random(1)

    def make(self) -> None:
        """Write all of them."""
        for number in range(FILES):
            path = self._path(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._text(60))

    def change(self) -> None:
        """Write ten of them anew."""
        for number in range(CHANGED):
            self._path(number * 7).write_text(self._text(61))

    def _path(self, number: int) -> Path:
        return self.work / f"package{number % 50}" / f"module{number % 500}" / f"file{number}.py"

    def _text(self, lines: int) -> str:
        return "".join(f"line {self._random.random()}\n" for _ in range(lines))


@contextmanager
def sides() -> Iterator[Mapping[str, tuple[Files, Ours | Plain]]]:
    """Both sides with their files, old enough."""
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as made:
        root = Path(made).resolve()
        ours, plain = Files(root / "ours"), Files(root / "plain")
        for files in (ours, plain):
            files.make()
        time.sleep(OLD_ENOUGH)
        yield {
            "hookline": (ours, Ours(ours.work, root / "home")),
            "bare": (plain, Plain(plain.work)),
        }


def timed(prepare: Callable[[], None], act: Callable[[], None]) -> Mapping[str, float]:
    """Seconds that ``act`` takes, and seconds of processor time, git's counted."""
    prepare()
    begin, before = perf_counter(), processor()
    act()
    return {"seconds": perf_counter() - begin, "cpu": processor() - before}


def processor() -> float:
    """Seconds of processor time of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(bench: Bench) -> Iterator[Row]:
    """Every row, as soon as it is known."""
    with sides() as found:
        for name, prepare, limit in SCENES:
            samples: Samples = bench.interleave(
                {
                    label: lambda files=files, side=side, p=prepare: timed(
                        p(files, side), side.save
                    )
                    for label, (files, side) in found.items()
                }
            )
            for key, unit in (("seconds", "ms"), ("cpu", "ms CPU")):
                hookline, bare = (middle(samples, side, key) * 1e3 for side in ("hookline", "bare"))
                wanted = limit if key == "seconds" else None
                yield Row(name, unit, hookline, bare, limit=wanted, judged="value", samples=samples)


SCENES: tuple[tuple[str, Callable[[Files, Ours | Plain], Callable[[], None]], float | None], ...]
SCENES = (
    (f"first, {FILES:,} files", lambda _files, side: side.reset, None),
    (f"{CHANGED} changed of {FILES:,}", lambda files, _side: files.change, LIMIT),
    (f"nothing changed of {FILES:,}", lambda _files, _side: lambda: None, None),
)
"""Name, what happens before each sample, and how many milliseconds are wanted."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure checkpoints beside plain git.")
    add = parser.add_argument
    add("--quick", action="store_true", help=f"{QUICK} samples instead of {SAMPLES}: a rough look")
    add("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    add("--columns", action="store_true", help="print for a terminal instead of as Markdown")
    options = parser.parse_args()
    samples = QUICK if options.quick else SAMPLES
    before = surroundings()
    rows = list(measured(Bench(0, samples)))
    form = columns if options.columns else markdown
    sys.stdout.write(f"{form(rows)}\n\n{before}; medians of {samples}\n")
    if options.json is not None:
        result = {"surroundings": before, "rows": [row.to_json() for row in rows]}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
