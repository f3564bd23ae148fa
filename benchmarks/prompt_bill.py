"""What ten turns cost with all that goes on beside them: ``python benchmarks/prompt_bill.py``.

The method and what the numbers mean are in ``docs/benchmarks.md``.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence

from prompt_measure import GAP, Session, Situation, measure
from prompt_servers import Asked
from prompt_table import columns, markdown

NAMES = {
    Situation(): "Anthropic, back to back",
    Situation(gap=GAP): f"Anthropic, {GAP:.0f} s between turns",
    Situation(gap=GAP, earlier=True): "Anthropic, likewise, not the first such session",
    Situation(gap=GAP, earlier=True, restart=True): "Anthropic, likewise, after a restart",
    Situation(wire="openai"): "OpenAI, back to back",
    Situation(wire="openai", gap=GAP): f"OpenAI, {GAP:.0f} s between turns",
}
WANTED = {
    Situation(): (9_000, 0.17),
    Situation(gap=GAP): (14_000, 0.25),
    Situation(gap=GAP, earlier=True): (14_000, 0.25),
    Situation(gap=GAP, earlier=True, restart=True): (14_000, 0.25),
}
"""The most fresh tokens, and the most of the uncached cost."""
HEAD: tuple[str, ...] = (
    *("situation", "for", "requests", "input", "fresh", "read", "written 5 min", "written 1 h"),
    *("output", "cost", "of uncached", "wanted", "met"),
)


def main() -> None:
    """Hold the session in each situation and print what it came to."""
    parser = argparse.ArgumentParser(description="Price a session with its background requests.")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    table = [HEAD]
    for situation in NAMES:
        table += rows(situation, measure(situation, None))
    sys.stdout.write((markdown if options.markdown else columns)(table) + "\n")


def rows(situation: Situation, session: Session) -> Iterator[tuple[str, ...]]:
    """A row for each purpose, and one for all."""
    asked = [one for turn in session.asked for one in turn]
    for purpose in dict.fromkeys(one.purpose for one in asked):
        found = [one for one in asked if one.purpose == purpose]
        yield (NAMES[situation], purpose, *_sums(found), "", "")
    cost, uncached = _cost(asked), sum(one.counted.input for one in asked)
    wanted, met = "", ""
    if situation in WANTED:
        most, share = WANTED[situation]
        wanted = f"≤ {most:,}, ≤ {share}"
        met = ", ".join(("no", "yes")[one] for one in (cost <= most, cost <= share * uncached))
    yield (NAMES[situation], "all", *_sums(asked), wanted, met)


def _cost(asked: Sequence[Asked]) -> float:
    return sum(one.counted.cost for one in asked)


def _sums(asked: Sequence[Asked]) -> tuple[str, ...]:
    counted = [one.counted for one in asked]
    uncached = sum(one.input for one in counted)
    numbers = (
        len(asked),
        uncached,
        sum(one.fresh for one in counted),
        sum(one.read for one in counted),
        sum(one.short for one in counted),
        sum(one.long for one in counted),
        sum(one.output for one in asked),
        _cost(asked),
    )
    return (*(f"{number:,.0f}" for number in numbers), f"{_cost(asked) / uncached:.3f}")


if __name__ == "__main__":
    main()
