"""What plugins cost at the start of a process: ``python benchmarks/plugin_start.py``.

Two questions: how much longer a process takes to start and end with 25 plugins on than with none,
and how long ``hookline plugins list`` takes where 100 dists with a plugin each are installed. The
method is documented in ``docs/benchmarks.md``; ``--profile`` tells where the time goes instead.
"""

from __future__ import annotations

import argparse
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from time import perf_counter

import yaml
from hookline.config import load
from measures import Bench, Samples, hookline_command, middle
from run import QUICK, SAMPLES, surroundings
from small_plugins import install
from table import Row, columns, markdown

PLUGINS, DISTS = 25, 100
START_LIMIT, LIST_LIMIT = 60.0, 500.0
"""Wanted milliseconds."""
RUN = ("run", "/whoami", "--no-wait")
"""Starts everything that a turn needs, answers without a model, and ends in order."""
LIST = ("plugins", "list", "--json")
SHOWN = 30
"""Lines of each list of the profile."""


@dataclass(frozen=True)
class Scene:
    """A home, its ``plugins:``, and the number of small plugins installed beside the standard set.

    The cache of entry points lies in the folder, so that only this scene's own is used.
    """

    folder: Path
    small: int
    plugins: Mapping[str, bool]

    @classmethod
    def make(cls, folder: Path, small: int, plugins: Mapping[str, bool]) -> Scene:
        """Install ``small`` plugins into a new folder and write the config."""
        scene = cls(folder, small, plugins)
        scene.home.mkdir(parents=True, mode=0o700)
        (folder / "site").mkdir()
        install(folder / "site", small)
        config = yaml.safe_dump({"plugins": dict(plugins)})
        (scene.home / "config.yaml").write_text(config, "utf-8")
        return scene

    @property
    def home(self) -> Path:
        """The Hookline home."""
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """The process's environment: no setting of the person who measures."""
        dropped = ("HOOKLINE", "PYTHONDONTWRITEBYTECODE")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
        return kept | {
            "HOOKLINE_HOME": str(self.home),
            "PYTHONPATH": str(self.folder / "site"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def sample(self, *arguments: str) -> Mapping[str, float]:
        """Seconds and processor seconds (user and system) of one process."""
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        command = [hookline_command(), *arguments]
        subprocess.run(command, env=self.environment(), check=True, stdout=subprocess.DEVNULL)
        seconds, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"seconds": seconds, "cpu": cpu}

    def check(self) -> None:
        """End unless the plugins that should be on are on; a failed one would cost too little."""
        command = [hookline_command(), *LIST]
        run = subprocess.run(command, env=self.environment(), check=True, stdout=subprocess.PIPE)
        states = {row["name"]: row for row in json.loads(run.stdout)}
        for name, wanted in self.plugins.items():
            if wanted and states[name]["state"] != "on":
                raise SystemExit(f"plugin_start: {name} is not on: {states[name]['reason']}")


def standard() -> list[str]:
    """The plugins of the standard set that are installed here."""
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name, entry in load(Path(folder), {}).plugins.items() if entry.standard]
    here = {point.name for point in entry_points(group="hookline.plugins")}
    return [name for name in names if name in here]


@contextmanager
def scenes() -> Iterator[dict[str, Scene]]:
    """Every scene by name, in a temporary folder."""
    known = standard()[:PLUGINS]
    few = [f"small{number:03}" for number in range(PLUGINS - len(known))]
    many = [f"small{number:03}" for number in range(DISTS)]
    off = dict.fromkeys(known, False)
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        root = Path(folder)
        found = {
            "core": Scene.make(root / "core", 0, off),
            "mixed": Scene.make(root / "mixed", len(few), dict.fromkeys([*known, *few], True)),
            "small": Scene.make(root / "small", PLUGINS, off | dict.fromkeys(many[:PLUGINS], True)),
            "usual": Scene.make(root / "usual", 0, {}),
            "installed": Scene.make(root / "installed", DISTS, {}),
            "named": Scene.make(root / "named", DISTS, dict.fromkeys(many, False)),
        }
        for scene in found.values():
            scene.check()
        yield found


def difference(samples: Samples, side: str, base: str, key: str) -> float:
    """The median of what ``side`` took longer than ``base`` in the same round, in ms."""
    pairs = zip(samples[side], samples[base], strict=True)
    return median(one[key] - other[key] for one, other in pairs) * 1e3


def start(bench: Bench, found: Mapping[str, Scene]) -> Iterator[Row]:
    """A process with 25 plugins on beside one with none."""
    sides = {name: found[name] for name in ("core", "mixed", "small")}
    samples = bench.interleave({n: lambda s=s: s.sample(*RUN) for n, s in sides.items()})
    known = len(standard()[:PLUGINS])
    for side, words in {
        "mixed": f"{known} of the standard set, {PLUGINS - known} small",
        "small": f"{PLUGINS} small",
    }.items():
        yield from rows(f"start, {words}", samples, side, "core", None)
        for key, unit in {"seconds": "ms", "cpu": "ms CPU"}.items():
            value = difference(samples, side, "core", key)
            yield Row("  beyond core alone", unit, value, limit=START_LIMIT, judged="value")


def listing(bench: Bench, found: Mapping[str, Scene]) -> Iterator[Row]:
    """``hookline plugins list`` among 100 dists beside the standard set alone."""
    sides = {name: found[name] for name in ("usual", "installed", "named")}
    samples = bench.interleave({n: lambda s=s: s.sample(*LIST) for n, s in sides.items()})
    yield from rows(f"plugins list, {DISTS} more dists", samples, "installed", "usual", LIST_LIMIT)
    words = f"plugins list, {DISTS} more, named and off"
    yield from rows(words, samples, "named", "usual", LIST_LIMIT)


def rows(words: str, samples: Samples, side: str, base: str, limit: float | None) -> Iterator[Row]:
    """A row by the clock and one of processor time."""
    for key, unit in {"seconds": "ms", "cpu": "ms CPU"}.items():
        yield Row(
            words,
            unit,
            middle(samples, side, key) * 1e3,
            middle(samples, base, key) * 1e3,
            limit=limit,
            judged="value",
            samples=samples if key == "seconds" else {},
        )


def profile(found: Mapping[str, Scene]) -> None:
    """Print where the time of each command goes, under cProfile."""
    for name, arguments in {"core": RUN, "mixed": RUN, "installed": LIST, "named": LIST}.items():
        scene, file = found[name], found[name].folder / "profile"
        command = [sys.executable, "-m", "cProfile", "-o", str(file), "-m", "hookline", *arguments]
        subprocess.run(command, env=scene.environment(), check=True, stdout=subprocess.DEVNULL)
        sys.stdout.write(f"{name}: hookline {' '.join(arguments)}\n")
        stats = pstats.Stats(str(file)).strip_dirs()
        stats.sort_stats("tottime").print_stats(SHOWN)
        stats.sort_stats("cumtime").print_stats(SHOWN)


def report(measured: Iterable[Row], options: argparse.Namespace, samples: int) -> None:
    """Show the rows as they come, then print the table."""
    before, shown = surroundings(), []
    for row in measured:
        shown.append(row)
        sys.stderr.write("  ".join(row.cells()) + "\n")
    form = markdown if options.markdown else columns
    sys.stdout.write(f"{form(shown)}\n\n{before}; medians of {samples}\n")
    if options.json is not None:
        result = {"surroundings": before, "rows": [row.to_json() for row in shown]}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


def main() -> None:
    """Measure and print, or profile."""
    parser = argparse.ArgumentParser(description="Measure what plugins cost at a start.")
    add = parser.add_argument
    add("--quick", action="store_true", help=f"{QUICK} samples instead of {SAMPLES}: a rough look")
    add("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    add("--markdown", action="store_true", help="print the table as Markdown")
    add("--profile", action="store_true", help="show where the time goes instead")
    options = parser.parse_args()
    samples = QUICK if options.quick else SAMPLES
    bench = Bench(0, samples)
    with scenes() as found:
        if options.profile:
            profile(found)
            return
        report((*start(bench, found), *listing(bench, found)), options, samples)


if __name__ == "__main__":
    main()
