"""The database skills on MariaDB find the problems of a prepared database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support import mariadb
from support.databases.servers import FaultyMariaDB
from support.databases.skill_model import NAMES, SkillHome, queries, reference

Make = Callable[[str], SkillHome]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def faulty_db() -> Iterator[FaultyMariaDB]:
    try:
        with mariadb.server() as server:
            yield FaultyMariaDB(server)
    except mariadb.NoMariaDB as error:
        pytest.skip(str(error))


def test_skill_finds_missing_unused_and_duplicate_mariadb_indexes(
    skill_home: Make, faulty_db: FaultyMariaDB
) -> None:
    told = skill_home(faulty_db.url).follow("Which indexes are missing or never used?", "db-index")
    assert "FROM `orders` WHERE `person` = ?" in told["Statements without an index"]
    assert "| orders | " in told["Tables that are read whole"]
    unused = told["Unused indexes"]
    assert "| orders | orders_by_note | 0 | note |" in unused
    assert "| visits | visits_by_person | 0 |" not in unused
    assert "PRIMARY" not in unused
    covered = told["Indexes that another one covers"]
    assert "| visits | visits_by_person | person | visits_by_person_and_page |" in covered
    assert covered.count("\n| visits") == 1


def test_skill_finds_a_slow_mariadb_statement(skill_home: Make, faulty_db: FaultyMariaDB) -> None:
    sql = "SELECT COUNT(*) FROM orders WHERE person = 7"
    with faulty_db.connect() as owner:
        owner.cursor().execute("TRUNCATE performance_schema.events_statements_summary_by_digest")
        for _ in range(60):
            owner.cursor().execute(sql)
    told = skill_home(faulty_db.url).follow("Why is this query slow on prod?", "db-slow-sql", [sql])
    assert "orders ALL" in told[sql]
    assert "| 1 |" in told["Whether statements are counted"]
    worst = told["Statements by time"].split("\n")[2]
    assert worst.startswith("| 60 |")
    assert "SELECT COUNT ( * ) FROM `orders` WHERE `person` = ?" in worst
    assert "| orders |" in told["Tables whose statistics are old"]


def test_skill_finds_a_mariadb_lock_chain(skill_home: Make, faulty_db: FaultyMariaDB) -> None:
    with faulty_db.lock_chain() as numbers:
        told = skill_home(faulty_db.url).follow("The update hangs, who blocks it?", "db-locks")
    lines = told["Who waits for whom"].split("\n")[2:5]
    for depth, number in enumerate(numbers):
        assert f"| {depth} | {number} | root |" in lines[depth]
    assert "Sleep" in lines[0]
    assert "UPDATE people" in lines[2]
    assert "people" in told["On which table"]
    assert f"| {numbers[0]} |" in told["Transactions that are open longest"]


def test_skill_finds_free_space_and_old_mariadb_transactions(
    skill_home: Make, faulty_db: FaultyMariaDB
) -> None:
    with faulty_db.connect() as reader:
        reader.cursor().execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        told = skill_home(faulty_db.url).follow(
            "How much bloat is in the events table?", "db-vacuum"
        )
        number = reader.thread_id()
    assert told["Space that deletes left"].split("\n")[2].startswith("| events |")
    assert f"| {number} | root | Sleep |" in told["What keeps old rows"]


def test_skill_finds_mariadb_keys_near_their_end_and_growing_tables(
    skill_home: Make, faulty_db: FaultyMariaDB
) -> None:
    told = skill_home(faulty_db.url).follow(
        "Will we run out of ids in the people table?", "db-capacity"
    )
    ending = told["Keys that near their end"].split("\n")[2]
    assert ending == "| people | id | int(11) | 2100000000 | 2147483647 | 97.8 |"
    assert told["Tables that grow"].split("\n")[2].startswith("| orders | 20000 | 0 | 20000 |")


@pytest.mark.parametrize("skill", NAMES)
def test_every_skill_query_runs_on_mariadb(
    skill_home: Make, faulty_db: FaultyMariaDB, skill: str
) -> None:
    found = queries(reference(skill, "mysql"))
    texts = skill_home(faulty_db.url).ask([query.sql for query in found])
    wrong = [f"{q.heading}: {t}" for q, t in zip(found, texts, strict=True) if t[0] != "|"]
    assert not wrong, "\n".join(wrong)
