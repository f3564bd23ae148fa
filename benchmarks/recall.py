"""How long recall takes: ``python benchmarks/recall.py``.

A home is filled with facts, most of them of one chat, made of sentences with names and words of a
vocabulary in which, as in a language, few words are common and many are rare (Zipf). Then that
chat is asked what one of its facts says in part, through the plugin `memory` in a running core and
its database: tokenising, index, ranking. ``pre_prompt`` is the whole hook, with the look through
the session's context. The table shows medians and 95th percentiles in milliseconds, and the
processor time of all threads, which what else the machine does hardly changes.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from hookline.testing import Harness
from hookline_memory import Memory
from hookline_memory.fact import Fact
from hookline_memory.facts import Chat, FactWriter
from hookline_memory.ranking import RankedFact

SIZES = (100, 1_000, 10_000)
LIMIT = 5.0
"""Wanted milliseconds at 10,000 facts (issue 7)."""
QUERIES = 300
CHAT = Chat("terminal", "default")
OTHERS = 50
"""Other chats, which share a tenth of the facts."""
SYLLABLES = ("ka", "lo", "mi", "ter", "vo", "san", "del", "qui", "ber", "ran", "pol", "ti", "gu")
COMMON = ("The user", "staging", "server", "database", "project", "team", "prefers", "has", "works")


def vocabulary(chance: random.Random, size: int = 8_000) -> list[str]:
    """Made-up words, the most common first."""
    made = ("".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(size * 2))
    return list(dict.fromkeys(made))[:size]


def sentences(chance: random.Random, words: list[str]) -> Iterator[str]:
    """Sentences of common and of rarer words."""
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        rare = chance.choices(words, weights, k=chance.randint(5, 12))
        common = chance.choices(COMMON, k=chance.randint(2, 5))
        mixed = [*rare, *common]
        chance.shuffle(mixed)
        yield f"{' '.join(mixed)} {chance.randint(1, 9_999)}"


async def fill(plugin: Memory, contents: list[str]) -> None:
    """Store facts, most of them of the chat that is asked."""
    now = plugin.host.now()

    def work(db: Any) -> None:
        for number, content in enumerate(contents):
            other = number % 10 == 9
            chat = Chat("telegram", str(number % OTHERS)) if other else CHAT
            made = (content, "knowledge", 0.9, "", "", now - number * 60.0, None)
            fact = Fact(0, chat.channel, chat.chat_id, *made)
            FactWriter(db, chat, now).remember(fact, len(contents))

    await plugin.host.storage.transact(work)


Samples = list[tuple[float, float]]
"""Milliseconds of each query: by the clock, and of the processor."""


async def timed(queries: list[str], ask: Callable[[str], Awaitable[Any]]) -> Samples:
    """The time of each query, asked one after the other."""
    taken = []
    for query in queries:
        begin, worked = perf_counter(), process_time()
        await ask(query)
        taken.append(((perf_counter() - begin) * 1e3, (process_time() - worked) * 1e3))
    return taken


def partly(chance: random.Random, content: str) -> str:
    """What a person says about a fact: some of its words, and a few of their own."""
    words = content.split()
    said = chance.sample(words, min(5, len(words)))
    return f"tell me please about {' '.join(said)} and what we said of it"


def measure(size: int, chance: random.Random) -> list[tuple[str, Samples]]:
    """The samples at ``size`` facts in all, of what is measured."""
    words = vocabulary(chance)
    made = sentences(chance, words)
    contents = [next(made) for _ in range(size)]
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Memory, home=Path(folder), model=["Yes."] * 3)
        try:
            harness.send("hello")
            plugin = harness.plugin(Memory)
            harness.run(fill(plugin, contents))
            own = [content for number, content in enumerate(contents) if number % 10 != 9]
            queries = [partly(chance, chance.choice(own)) for _ in range(QUERIES)]
            return samples(harness, plugin, queries)
        finally:
            harness.close()


def samples(harness: Harness, plugin: Memory, queries: list[str]) -> list[tuple[str, Samples]]:
    """What recall alone takes, and the hook as core calls it."""
    from dataclasses import replace

    from hookline.sessions.context import TurnContext

    runtime = harness.runtime
    state = runtime.sessions.loaded("test")
    assert state is not None
    ctx: Any = TurnContext(runtime.engine, state).of("memory")

    def find(query: str) -> Awaitable[list[RankedFact]]:
        return plugin.facts.find(CHAT, query, plugin.config.half_life_days)

    def hook(query: str) -> Awaitable[Any]:
        turn = ctx.turn
        return plugin.pre_prompt(ctx, replace(turn, inbound=replace(turn.inbound, text=query)))

    found = []
    for name, ask in (("recall", find), ("pre_prompt", hook)):
        harness.run(timed(queries[:20], ask))  # warm
        found.append((name, harness.run(timed(queries, ask))))
    return found


def main() -> None:
    """Measure, and print the table as Markdown."""
    parser = argparse.ArgumentParser(description="Time recall over facts.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="facts in all")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print_line = sys.stdout.write
    print_line("| facts | what | median, ms | p95, ms | CPU, ms | wanted | met |\n")
    print_line("| --- | --- | --- | --- | --- | --- | --- |\n")
    for size in options.sizes:
        for name, taken in measure(size, random.Random(options.seed)):
            clock, cpu = [[one[side] for one in taken] for side in (0, 1)]
            middle = median(clock)
            wanted = size == 10_000
            cells = (f"≤ {LIMIT:g} ms", "yes" if middle <= LIMIT else "no") if wanted else ("", "")
            times = (middle, quantiles(clock, n=20)[-1], median(cpu))
            line = (f"{size:,}", name, *(f"{one:.2f}" for one in times), *cells)
            print_line(f"| {' | '.join(line)} |\n")


if __name__ == "__main__":
    main()
