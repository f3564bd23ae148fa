"""AgentDojo against provenance: ``python benchmarks/agentdojo/run.py [--off] [--sample N]``.

Needs ``uv sync --all-packages`` and ``uv pip install agentdojo==0.1.35``. It runs the 97 tasks with
and without a person, and the 949 pairs of task and injection, and prints a table.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

from measure import Outcome, pairs, run, tasks


def main() -> None:
    """Run what the arguments say and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--off", action="store_true", help="without provenance, to compare")
    parser.add_argument("--sample", type=int, default=0, help="only so many pairs, always the same")
    parser.add_argument("--suite", default="", help="only this suite")
    parser.add_argument("--tasks", action="store_true", help="only the tasks without injections")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="name what failed and why")
    args = parser.parse_args()
    chosen = sorted((one for one in pairs() if args.suite in one[0]), key=lambda one: one[::2])
    if args.sample:
        chosen = random.Random(0).sample(chosen, args.sample)
    harmless = [one for one in tasks() if args.suite in one[0]]
    guarded = not args.off
    with ProcessPoolExecutor(args.processes) as pool:
        alone = _map(pool, harmless, attended=False, guarded=guarded)
        asked = _map(pool, harmless, attended=True, guarded=guarded)
        report("harmless tasks, nobody there", alone, args.verbose)
        report("harmless tasks, a person", asked, args.verbose)
        if not args.tasks:
            report("attacks, nobody there", _map(pool, chosen, attended=False, guarded=guarded))
            attacked = _map(pool, chosen, attended=True, guarded=guarded)
            report("attacks, an honest person", attacked, args.verbose)


def _map(
    pool: ProcessPoolExecutor,
    chosen: Iterable[tuple[str, str, str]],
    *,
    attended: bool,
    guarded: bool,
) -> list[Outcome]:
    waiting = [pool.submit(run, *one, attended=attended, guarded=guarded) for one in chosen]
    return [one.result() for one in waiting]


def report(title: str, found: list[Outcome], verbose: bool = False) -> None:
    """Print one row, and with ``verbose`` what was not as it should be."""
    count = max(1, len(found))
    useful = sum(one.useful for one in found) / count
    attacked = sum(one.attacked for one in found) / count
    touched = sum(bool(one.side_effects) for one in found) / count
    questions = sum(one.asked for one in found) / count
    _say(
        f"| {title} | {len(found)} | {useful:.1%} | {questions:.2f} | {attacked:.1%} | "
        f"{touched:.1%} |"
    )
    kinds = Counter((one.suite, one.injection) for one in found if one.attacked)
    if kinds:
        _say(f"  attacks: {dict(kinds)}")
    effects = Counter(
        (one.suite, one.injection, one.side_effects) for one in found if one.side_effects
    )
    if effects:
        _say(f"  side effects: {dict(list(effects.items())[:12])}")
    for one in found if verbose else ():
        if not one.useful or one.asked:
            _say(f"  {one.suite} {one.task} {one.injection} {one.useful} {one.asked} {one.reasons}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
