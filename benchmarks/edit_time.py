"""What an edit takes, by strategy and size of the file: ``python benchmarks/edit_time.py``.

A text of 10 to 10,000 lines of code is edited in its middle with a pattern of 40 lines (fewer in
the smallest), once for each strategy of ``hookline_textmatch`` and once without a match; then come
texts that are hard to search. Time is the processor's for one call of ``replace`` in a warm
process, files and tools not counted: the median of the samples, in milliseconds. The matcher has
one thread and waits for nothing, so that on a free machine the clock shows the same.

``--beside FILE`` measures another matcher in the same rounds: a copy, kept outside of this tree, of
Hermes Agent's ``tools/fuzzy_match.py`` (``hermes-agent`` on the package index, under its own
licence); what takes it longer than a second is measured once. ``as named`` counts the texts on
which a matcher did what the row says: matched by that strategy, or refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time

from hookline_textmatch import EditError, replace
from run import QUICK, SAMPLES, surroundings

SIZES = (10, 100, 1_000, 10_000)
PATTERN = 40
"""Lines of a pattern."""
LIMIT = 500.0
"""Milliseconds allowed at most, whatever the text."""
PATIENCE = 1_000.0
"""Milliseconds beyond which a call is not repeated."""
Matcher = Callable[[str, str, str], str]
"""From text, old and new to the name of the strategy, or nothing where it refuses."""


@dataclass(frozen=True)
class Case:
    """An edit, and the strategy that should find it; none where nothing should."""

    name: str
    text: str
    old: str
    new: str
    strategy: str = ""


def code(lines: int) -> list[str]:
    """Lines of a class with methods; no two methods are equal."""
    found = ["class Store:"]
    for number in range(lines):
        body = number % 8
        if body == 0:
            found.append(f"    def method_{number}(self, item, count={number}):")
        elif body == 7:
            found.append("")
        else:
            found.append(f"        value_{number} = self.compute('key {number}', item, count + 1)")
    return found[:lines]


def cases(size: int) -> Iterator[Case]:
    """One edit for each strategy in a text of ``size`` lines, and one that finds nothing."""
    lines = code(size)
    length = min(PATTERN, size // 2)
    start = (size - length) // 2
    block = lines[start : start + length]
    text = "\n".join(lines) + "\n"
    old = "\n".join(block) + "\n"
    new = old.replace("count + 1", "count + 2", 1)

    def case(strategy: str, text: str, change: Callable[[str], str]) -> Case:
        return Case(strategy, text, change(old), change(new), strategy)

    yield case("exact", text, str)
    yield case("line_trimmed", text, _unindented)
    yield case("whitespace_normalized", text, lambda piece: piece.replace(" = ", "  = "))
    yield case("indentation_flexible", text, lambda p: _unindented(p).replace(" = ", "  = "))
    yield case("escape_normalized", text, lambda piece: piece.replace("\n", "\\n"))
    yield case("trimmed_boundary", text, lambda piece: f"\n\n{piece.rstrip()}\n\n\n\n \n\n")
    curly = text.replace("'key ", "‘key — ").replace("', item", "…’, item")
    yield case("unicode_normalized", curly, _typed)
    yield case("block_anchor", text, _misremembered)
    missing = "\n".join(line.replace("value", "other") + "  # gone" for line in block)
    yield Case("no match", text, missing, "new")


def hard_cases() -> Iterator[Case]:
    """Texts that nearly match everywhere: some 10,000 lines, or one; patterns have 40."""
    rng = random.Random(40)
    size = max(SIZES)
    near = "\n".join(f"value = compute({number})" for number in range(PATTERN))
    lines = "".join(f"value = compute({rng.randrange(10**6)}, {n})\n" for n in range(size))
    yield Case("every line is near", lines, near, "new")
    yield Case("one line 10,000 times", "x = 1\n" * size, "  x = 1\n" * PATTERN, "new")
    anchors = "}\n" + "something else here\n" * (PATTERN - 2) + "}\n"
    yield Case("every line is an anchor", "}\n" * size, anchors, "new")

    def blocks(length: int) -> str:
        body = (f"  field_{rng.randrange(10**9)}: {rng.random()},\n" for _ in range(length))
        return "{\n" + "".join(body) + "}\n"

    many = "".join(blocks(PATTERN - 2) for _ in range(size // PATTERN))
    yield Case("250 blocks with the anchors", many, blocks(PATTERN - 2), "new")
    dashes = "— “quoted” – and…\n" * size
    yield Case("typography everywhere", dashes, "-- 'quoted' - and...\n" * PATTERN, "new")
    yield Case("one line of 1 MB", "var a = 1; " * 90_000, "var  a = 2;\n" * PATTERN, "new")
    yield Case("1 MB of white space", " \t" * 500_000 + "x", "x  y\n" * PATTERN, "new")


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n"))


def _typed(text: str) -> str:
    return text.replace("'key ", "'key -- ").replace("', item", "...', item")


def _misremembered(text: str) -> str:
    """``text`` with another name in all lines but the first and the last."""
    first, *middle, last = text.strip("\n").split("\n")
    return "\n".join([first, *(line.replace("compute(", "computed(") for line in middle), last])


def hookline(text: str, old: str, new: str) -> str:
    """The strategy by which Hookline's matcher made the edit."""
    try:
        return replace(text, old, new).strategy
    except EditError:
        return ""


def load(file: Path) -> Matcher:
    """The matcher of a copy of Hermes Agent's ``fuzzy_match.py``."""
    spec = importlib.util.spec_from_file_location("fuzzy_match_beside", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"edit_time: {file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda text, old, new: module.fuzzy_find_and_replace(text, old, new)[2] or ""


@dataclass(frozen=True)
class Measured:
    """Milliseconds of one side, and whether it did what the case says."""

    milliseconds: float
    as_named: bool


def measure(case: Case, sides: Mapping[str, Matcher], samples: int) -> dict[str, Measured]:
    """Every side on one case, in turns; the first round warms up and is dropped."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    found: dict[str, str] = {}
    for _ in range(samples + 1):
        for name, matcher in sides.items():
            if times[name] and times[name][0] > PATIENCE:
                continue
            begin = process_time()
            found[name] = matcher(case.text, case.old, case.new)
            times[name].append((process_time() - begin) * 1e3)
    results = {
        name: Measured(median(taken[1:] or taken), found[name] == case.strategy)
        for name, taken in times.items()
    }
    words = ", ".join(f"{name} {one.milliseconds:.2f} ms" for name, one in results.items())
    sys.stderr.write(f"{case.name}, {case.text.count(chr(10)):,} lines: {words}\n")
    return results


Rows = dict[str, list[dict[str, Measured]]]


def rows(sides: Mapping[str, Matcher], samples: int) -> Rows:
    """What was measured, by name of the case; one entry for each size."""
    found: Rows = {}
    for size in SIZES:
        for case in cases(size):
            found.setdefault(case.name, []).append(measure(case, sides, samples))
    for case in hard_cases():
        found[case.name] = [measure(case, sides, samples)]
    return found


def table(found: Rows, sides: Sequence[str]) -> str:
    """Markdown: a row for each case and side."""
    head = ["edit", "by", *(f"{size:,} lines" for size in SIZES), "as named"]
    lines = [head, ["---"] * len(head)]
    for name, measured in found.items():
        for side in sides:
            times = [f"{one[side].milliseconds:.2f}" for one in measured]
            times = [""] * (len(SIZES) - len(times)) + times
            named = sum(one[side].as_named for one in measured)
            lines.append([name, side, *times, f"{named} of {len(measured)}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Measure and print; the exit code is 1 where Hookline misses the target or a strategy."""
    parser = argparse.ArgumentParser(description="Measure the matcher of edit_file.")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="a copy of fuzzy_match.py")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} samples, not {SAMPLES}")
    options = parser.parse_args()
    sides: dict[str, Matcher] = {"Hookline": hookline}
    if options.beside:
        sides["beside"] = load(options.beside)
    samples = QUICK if options.quick else SAMPLES
    before = surroundings()
    found = rows(sides, samples)
    ours = [one["Hookline"] for measured in found.values() for one in measured]
    slowest = max(one.milliseconds for one in ours)
    met = slowest <= LIMIT and all(one.as_named for one in ours)
    sys.stdout.write(
        f"{table(found, list(sides))}\n\nMilliseconds; the slowest of Hookline's took {slowest:.0f}"
        f" (wanted ≤ {LIMIT:.0f}: {'met' if met else 'missed'}). {before}; medians of {samples}\n"
    )
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
