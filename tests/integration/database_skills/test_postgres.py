"""The database skills on PostgreSQL find the problems of a prepared database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from hookline_postgres.testing import Server
from support.databases.servers import FaultyDatabase, faulty_database, lock_chain
from support.databases.skill_model import NAMES, SkillHome, queries, reference

Make = Callable[[str], SkillHome]
COUNTED = "Statements by time"
"""The query that needs pg_stat_statements."""


@pytest.fixture(scope="module")
def faulty_db(postgres_server: str) -> Iterator[FaultyDatabase]:
    with faulty_database(postgres_server) as made:
        yield made


@pytest.mark.slow
def test_skill_finds_missing_unused_and_duplicate_postgres_indexes(
    skill_home: Make, faulty_db: FaultyDatabase
) -> None:
    with faulty_db.connect(autocommit=True) as owner, pytest.raises(psycopg.errors.UniqueViolation):
        owner.execute("CREATE UNIQUE INDEX CONCURRENTLY orders_once ON orders(person)")
    told = skill_home(faulty_db.url).follow("Which indexes are missing or never used?", "db-index")
    missing = told["Foreign keys without an index"]
    assert "| orders | orders_person_fkey | person | people |" in missing
    assert "visits" not in missing
    assert "public.orders" in told["Tables that are read whole"].split("\n")[2]
    unused = told["Unused indexes"]
    assert "| public.orders | orders_by_note | 0 |" in unused
    assert "visits_by_person_and_page" not in unused or "| visits_by_person |" not in unused
    assert "_pkey" not in unused
    covered = told["Indexes that another one covers"]
    assert "| visits | visits_by_person | visits_by_person_and_page |" in covered
    assert covered.count("\n| visits") == 1
    assert "orders_once" in told["Indexes that are not valid"]


@pytest.mark.slow
def test_skill_finds_a_slow_postgres_statement(skill_home: Make, faulty_db: FaultyDatabase) -> None:
    sql = "SELECT count(*) FROM orders WHERE person = 7"
    told = skill_home(faulty_db.url).follow("Why is this query slow on prod?", "db-slow-sql", [sql])
    assert "Seq Scan on orders" in told[sql]
    assert "Filter: (person = 7)" in told[sql]
    assert "public.orders" in told["Tables that are read whole"].split("\n")[2]
    assert "pg_stat_statements" in told[COUNTED]
    assert told[COUNTED].startswith("Error: ")
    assert "| NULL | False |" in told["Whether statements are counted"]


def test_skill_finds_a_postgres_lock_chain(skill_home: Make, faulty_db: FaultyDatabase) -> None:
    with lock_chain(faulty_db) as pids:
        told = skill_home(faulty_db.url).follow("The update hangs, who blocks it?", "db-locks")
    lines = told["Who waits for whom"].split("\n")[2:5]
    assert f"| {pids[0]} | 0 |" in lines[0]
    assert "idle in transaction" in lines[0]
    assert f"| {pids[0]} <- {pids[1]} | 1 |" in lines[1]
    assert f"| {pids[0]} <- {pids[1]} <- {pids[2]} | 2 |" in lines[2]
    assert f"| people | {pids[1]} |" in told["On which table"]
    assert str(pids[0]) in told["Transactions that are open longest"]


def test_skill_finds_dead_rows_and_the_transaction_keeping_them(
    skill_home: Make, faulty_db: FaultyDatabase
) -> None:
    with faulty_db.connect() as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM people")
        told = skill_home(faulty_db.url).follow(
            "How much bloat is in the events table?", "db-vacuum"
        )
        pid = reader.info.backend_pid
    assert "public.events" in told["Dead rows"].split("\n")[2]
    bloat = told["Bloat, an estimate"]
    assert "public.events" in bloat.split("\n")[2]
    assert "visits" not in bloat
    assert f"| transaction | {pid} |" in told["What keeps old rows"]
    assert "events" in told["Autovacuum: settings, tables without it, what runs"]


def test_skill_finds_postgres_sequences_near_their_end_and_growing_tables(
    skill_home: Make, faulty_db: FaultyDatabase
) -> None:
    told = skill_home(faulty_db.url).follow(
        "Which sequence is close to its maximum?", "db-capacity"
    )
    ending = told["Sequences that near their end"].split("\n")[2]
    assert ending == "| public.people_numbers | people.id | 2100000000 | 2147483647 | 97.8 |"
    assert "| public.orders | 20000 | 0 | 20000 |" in told["Tables that grow"].split("\n")[2]


@pytest.mark.slow
@pytest.mark.parametrize("skill", NAMES)
def test_every_skill_query_runs_on_postgres(
    skill_home: Make, faulty_db: FaultyDatabase, skill: str
) -> None:
    found = [one for one in queries(reference(skill, "postgres")) if one.heading != COUNTED]
    texts = skill_home(faulty_db.url).ask([query.sql for query in found])
    wrong = [f"{q.heading}: {t}" for q, t in zip(found, texts, strict=True) if t[0] != "|"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_skill_finds_slow_statements_in_pg_stat_statements(skill_home: Make) -> None:
    slow = "SELECT count(*) FROM orders WHERE person = {}"
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with Server(**settings) as server, faulty_database(server.url) as made:
        with made.connect(autocommit=True) as owner:
            owner.execute("CREATE EXTENSION pg_stat_statements")
            owner.execute("SELECT pg_stat_statements_reset()")
            for n in range(1, 60):
                owner.execute(slow.format(n).encode())
            owner.execute("SELECT 1")
        asked = skill_home(made.url).follow("Which statements are slow?", "db-slow-sql")
    assert "| public | true |" in asked["Whether statements are counted"].lower()
    worst = asked[COUNTED].split("\n")[2]
    assert "orders WHERE person = $1" in worst
    assert "| 59 |" in worst
