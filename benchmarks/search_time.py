"""What a search of earlier conversations takes: ``python benchmarks/search_time.py``.

A home is filled with generated messages: words of a Zipf distribution, one message in twenty in
Chinese characters. Then the plugin's search, as its tool runs it (index checked, query, texts read,
snippets made), is timed beside a bare FTS5 query on the same index in the same process, in turns:
session, role, time and FTS5's own snippet of the five best, on a connection of its own. Times are
in milliseconds; the first round warms up and is dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from hookline.config import PluginEntry, load
from hookline.runtime import Runtime
from hookline.sessions.context import detached_context
from hookline_hookspecs import Inbound, Job
from hookline_session_search.expressions import all_words
from hookline_session_search.tokens import parse_query as prepared

WORDS, CHARACTERS = 30_000, 2_500
"""Different words, and different Chinese characters."""
SESSION, CHATS = 100, 20
"""Messages of a session, and chats that the sessions are spread over."""
WANTED = 1.5
"""The search's p95 over that of the bare query, at most."""
SESSION_ROW = (
    "INSERT INTO sessions (id, channel, chat_id, model, system, tools, workspace, parts, created, "
    "updated, turns) VALUES (?, 'terminal', ?, '', '', '[]', '', '[]', ?, ?, 50)"
)
BARE = (
    "SELECT m.session_id, m.role, m.created, "
    "snippet(session_search_texts, 0, '', '', '…', 40) FROM session_search_texts "
    "JOIN messages m ON m.rowid = session_search_texts.rowid "
    "WHERE session_search_texts MATCH ? ORDER BY session_search_texts.rank LIMIT 5"
)


class Corpus:
    """Generated messages and queries; equal seeds give equal ones."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        made = {"".join(self._random.choices(letters, k=2 + n % 9)) for n in range(WORDS)}
        self.words = sorted(made)
        self._random.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(self.words))))
        self.characters = [chr(0x4E00 + n) for n in range(CHARACTERS)]

    def message(self, number: int) -> str:
        """A message of about fifty words, or of about sixty characters."""
        if number % 20 == 0:
            return "".join(self._random.choices(self.characters, k=self._random.randint(10, 110)))
        count = self._random.randint(5, 95)
        words = self._random.choices(self.words, cum_weights=self._weights, k=count)
        return " ".join(words) + "."

    def queries(self, count: int, texts: Sequence[str]) -> Mapping[str, list[str]]:
        """Queries by kind."""
        pick = self._random
        common, usual = self.words[10:60], self.words[100:600]
        chinese = [text for text in texts if text[0] >= "\u4e00"]
        spaced = [text.split() for text in texts if text[0] < "\u4e00"]
        return {
            "common word": pick.choices(common, k=count),
            "two words": [" ".join(pick.sample(usual, 2)) for _ in range(count)],
            "CJK, two characters": [_slice(pick, pick.choice(chinese), 2) for _ in range(count)],
            "rare phrase": [_rare(pick.choice(spaced), self.words) for _ in range(count)],
        }


def _slice(pick: random.Random, text: str, length: int) -> str:
    start = pick.randrange(len(text) - length)
    return text[start : start + length]


def _rare(words: Sequence[str], ranked: Sequence[str]) -> str:
    """Three words of a message, of them its rarest."""
    rank = {word: number for number, word in enumerate(ranked)}
    return " ".join(sorted(set(words), key=lambda word: -rank.get(word.rstrip("."), 0))[:3])


def fill(path: Path, corpus: Corpus, messages: int) -> list[str]:
    """Write the messages; some of their texts."""
    kept = []
    with closing(sqlite3.connect(path)) as db:
        for first in range(0, messages, SESSION):
            chat, session = f"chat{first // SESSION % CHATS}", f"session{first}"
            db.execute(SESSION_ROW, (session, chat, first, first))
            texts = [corpus.message(first + n) for n in range(min(SESSION, messages - first))]
            rows = [
                (session, n, f"turn{n // 2}", text, text, first + n) for n, text in enumerate(texts)
            ]
            db.executemany("INSERT INTO messages VALUES (?, ?, ?, 'user', ?, ?, ?)", rows)
            kept += texts[:2]
        db.commit()
    return kept


def stored_bytes(path: Path) -> int:
    """The size of the database file once it holds nothing that is not needed."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


async def measure(messages: int, count: int) -> list[tuple[str, ...]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory(prefix="hookline-search-") as folder:
        home, corpus = Path(folder), Corpus()
        entries = {"session-search": PluginEntry("session-search", named=True)}
        async with Runtime(replace(load(home, {}), plugins=entries), home) as runtime:
            path = home / "hookline.db"
            texts = fill(path, corpus, messages)
            plain = stored_bytes(path)
            plugin: Any = runtime.plugins.statuses["session-search"].plugin
            seconds = await index(plugin, path, messages)
            message = Inbound("terminal", "chat0", "bench", "1", "")
            ctx = detached_context(runtime.engine, message).of("session-search")
            rows = []
            with closing(sqlite3.connect(path)) as db:
                for kind, queries in corpus.queries(count, texts).items():
                    for scope in ("all", "chat"):
                        times = await beside(plugin, ctx, db, queries, scope)
                        rows.append(row(f"{kind}, {scope}", *times))
            sizes = f"{plain / 1e6:.0f} MB before, {stored_bytes(path) / 1e6:.0f} MB with the index"
            sys.stderr.write(f"{messages:,} messages: {seconds:.0f} s to index; {sizes}\n")
            return rows


async def index(plugin: Any, path: Path, messages: int) -> float:
    """Fill the index as the background does; the seconds it took."""
    [job] = [job for _, job in plugin.host.registered(Job) if job.name == "index"]
    started = time.perf_counter()
    with closing(sqlite3.connect(path)) as db:
        done = 0
        while done < messages:
            await job.run()
            [done] = db.execute("SELECT count(*) FROM session_search_messages").fetchone()
    return time.perf_counter() - started


async def beside(
    plugin: Any, ctx: Any, db: sqlite3.Connection, queries: Sequence[str], scope: str
) -> tuple[list[float], list[float]]:
    """Milliseconds of each query: bare, and as the tool answers it."""
    bare: list[float] = []
    ours: list[float] = []
    for text in [queries[0], *queries]:
        match = all_words(prepared(text)).match
        started = time.perf_counter()
        db.execute(BARE, (match,)).fetchall()
        middle = time.perf_counter()
        await plugin.session_search(ctx, text, scope=scope)
        bare.append((middle - started) * 1e3)
        ours.append((time.perf_counter() - middle) * 1e3)
    return bare[1:], ours[1:]


def p95(times: Sequence[float]) -> float:
    """The time that one query in twenty exceeds."""
    return quantiles(times, n=20)[-1]


def row(name: str, bare: Sequence[float], ours: Sequence[float]) -> tuple[str, ...]:
    """A line of the table."""
    ratio = p95(ours) / p95(bare)
    numbers = (median(bare), p95(bare), median(ours), p95(ours), ratio)
    met = "yes" if ratio <= WANTED else "no"
    return (name, *(f"{number:.2f}" for number in numbers), f"≤ {WANTED}", met)


HEAD = ("query", "bare p50", "bare p95", "search p50", "search p95", "p95 ratio", "wanted", "met")


def main() -> None:
    """Measure, show progress on stderr, and print the table as Markdown."""
    parser = argparse.ArgumentParser(description="Time the search of earlier conversations.")
    parser.add_argument("--messages", type=int, default=100_000, help="default: 100000")
    parser.add_argument("--queries", type=int, default=200, help="of each kind; default: 200")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.messages, options.queries))
    for line in (HEAD, tuple("---" for _ in HEAD), *rows):
        sys.stdout.write("| " + " | ".join(line) + " |\n")


if __name__ == "__main__":
    main()
