"""The database skills on SQLite and DuckDB find the problems of a prepared database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from support.databases.servers import FAULTY
from support.databases.skill_model import NAMES, SkillHome, queries, reference
from support.matrices import sampled

Make = Callable[[str], SkillHome]
SLOW = "SELECT sum(total) FROM orders WHERE person = 7"


@pytest.fixture
def sqlite(skill_home: Make, tmp_path: Path) -> SkillHome:
    """A SQLite file with known problems."""
    connection = sqlite3.connect(tmp_path / "prod.db")
    connection.executescript((FAULTY / "sqlite.sql").read_text("utf-8"))
    connection.close()
    return skill_home(f"sqlite:///{tmp_path}/prod.db")


@pytest.fixture
def duck(skill_home: Make, tmp_path: Path) -> SkillHome:
    """A DuckDB file with known problems."""
    with duckdb.connect(str(tmp_path / "prod.duckdb")) as connection:
        connection.execute((FAULTY / "duckdb.sql").read_text("utf-8"))
    return skill_home(f"duckdb:///{tmp_path}/prod.duckdb")


@pytest.mark.slow
def test_skill_finds_a_slow_sqlite_statement(sqlite: SkillHome) -> None:
    told = sqlite.follow("Why is this query slow on prod?", "db-slow-sql", [SLOW])
    assert "SCAN orders" in told[SLOW]
    assert "orders" in told["Tables by number of entries"].split("\n")[2]


@pytest.mark.slow
def test_skill_finds_missing_sqlite_indexes(sqlite: SkillHome) -> None:
    told = sqlite.follow("Which indexes are missing or redundant?", "db-index")
    missing = told["Foreign keys without an index"]
    assert "| orders | person | people |" in missing
    assert "visits" not in missing
    assert "| visits | visits_by_person |" in told["Indexes that another one covers"]
    assert told["Indexes that another one covers"].count("visits_by_person_and_page") == 1


def test_skill_finds_free_space_in_sqlite(sqlite: SkillHome) -> None:
    told = sqlite.follow("The file does not shrink after I deleted rows", "db-vacuum")
    cells = told["Free pages"].split("\n")[2].split("|")
    assert float(cells[3]) > 40


def test_skill_finds_sqlite_keys_near_their_end(sqlite: SkillHome) -> None:
    told = sqlite.follow("Will the ids run out?", "db-capacity")
    assert "| people | 9223372036854775000 | 100.0 |" in told["Keys with AUTOINCREMENT"]
    assert "orders" in told["Tables by size"]


@pytest.mark.slow
def test_skill_finds_a_sqlite_lock(sqlite: SkillHome, tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "prod.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    told = sqlite.follow("The app says: database is locked. Who holds it?", "db-locks")
    writer.close()
    assert "locked by another program" in told["Whether it can be read now"]


@pytest.mark.slow
def test_skill_finds_duckdb_sequences_and_duplicate_indexes(duck: SkillHome) -> None:
    told = duck.follow("Will the sequence run out?", "db-capacity")
    assert "| main.tickets | 950 | 1000 | 95.0 |" in told["Sequences that near their end"]
    assert "| people | ticket | INTEGER |" in told["Columns that take numbers of a sequence"]
    told = duck.follow("Which duplicate indexes can we drop?", "db-index")
    assert "people_again" in told["Indexes that repeat another one or a key"]
    told = duck.follow(
        "This query is slow",
        "db-slow-sql",
        ["SELECT count(*) FROM orders a, orders b WHERE a.id < b.person"],
    )
    assert "birth_date" in told["Columns that are text where they could be a type"]


@pytest.mark.long
@sampled("skill", NAMES)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_every_skill_query_runs_on_sqlite_and_duckdb(
    request: pytest.FixtureRequest, engine: str, skill: str
) -> None:
    asked = request.getfixturevalue({"sqlite": "sqlite", "duckdb": "duck"}[engine])
    assert_all_run(asked, skill, engine)


def assert_all_run(asked: SkillHome, skill: str, engine: str) -> None:
    """Each query of a skill's file is answered by the engine, through ``db_query``."""
    found = queries(reference(skill, engine))
    assert found
    texts = asked.ask([query.sql for query in found])
    wrong = [
        f"{q.heading}: {t}"
        for q, t in zip(found, texts, strict=True)
        if not t.startswith(("|", "("))
    ]
    assert not wrong, "\n".join(wrong)
