"""``hookline migrate-store`` and ``store copy``: a real home moves to PostgreSQL and back."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.machine import Machine, is_sentence

pytestmark = pytest.mark.sqlite  # it has both stores by itself

SKILL = "---\nname: make-tea\ndescription: Make tea the way they like it.\n---\n\n1. Boil water.\n"
NOT_COPIED = ("session_search_",)
"""Made anew from the messages."""
CONFIG = "plugins: {audit: {}, scheduler: {}, titles: false}\n"


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with conversations, memory, a skill, a schedule, an audit and a vault."""
    folder = tmp_path_factory.mktemp("lived-in")
    (folder / "work").mkdir()
    machine = Machine(folder / "home", folder / "work", VAULT)
    machine.config(CONFIG)
    steps: list[dict[str, Any]] = [
        {"name": "memory", "arguments": {"action": "add", "content": "Likes Grüße and 東京"}},
        {"name": "memory", "arguments": {"action": "remember", "content": "Uses Debian 12"}},
        {
            "name": "skill_manage",
            "arguments": {"action": "create", "name": "make-tea", "content": SKILL},
        },
        {"name": "write_file", "arguments": {"path": "a.txt", "content": "zebra\n" * 2000}},
    ]
    model = machine.script(
        *({"when": f"step {n}", "text": "", "tools": [step]} for n, step in enumerate(steps)),
        {"text": "done 😀", "repeat": True},
    )
    machine.env["HOOKLINE_MODEL"] = model
    for n in range(len(steps)):
        assert machine.run("run", f"step {n}", "--session", "one").code == 0
    for n in range(4):
        assert machine.run("run", f"message {n} " + "long " * 3000, "--session", f"s{n}").code == 0
    assert machine.run("cron", "add", "0 9 * * 1-5", "Say good morning").code == 0
    assert machine.run("vault", "set", "api/key", stdin="sekrit").code == 0
    return machine.home


VAULT = {"HOOKLINE_VAULT_KEY": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU="}


@pytest.fixture
def used_machine(used_home: Path, tmp_path: Path, postgres_url: str) -> Machine:
    (tmp_path / "work").mkdir()
    shutil.copytree(used_home, tmp_path / "home")
    machine = Machine(tmp_path / "home", tmp_path / "work", dict(VAULT))
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    return machine


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of a SQLite file, sorted."""
    with closing(sqlite3.connect(path)) as db:
        names = [
            name
            for name, kind in db.execute("SELECT name, type FROM pragma_table_list")
            if kind in ("table", "virtual")
            and not name.startswith(("sqlite_", *NOT_COPIED))
            and not name.endswith("_vocabulary")
        ]
        return {name: sorted(db.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}


@pytest.mark.slow
def test_store_copy_to_postgresql_and_back_keeps_every_row(
    used_machine: Machine, postgres_url: str, tmp_path: Path
) -> None:
    there = used_machine.run("store", "copy", "sqlite", postgres_url, "--json")
    assert there.code == 0, there.err
    back = tmp_path / "elsewhere" / "hookline.db"
    back.parent.mkdir()
    here = used_machine.run("store", "copy", postgres_url, back, "--json")
    assert here.code == 0, here.err
    assert here.json["tables"] == there.json["tables"]
    before, after = rows(used_machine.home / "hookline.db"), rows(back)
    for full in ("messages", "memory_facts", "memory_index", "skills_versions", "scheduler_jobs",
                 "audit_rows", "vault_secrets", "usage", "migrations"):  # fmt: skip
        assert before.get(full), full
    assert after.keys() == before.keys()
    for name in before:
        if name == "migrations":  # SQLite has steps of its own, which came when the copy did
            before[name], after[name] = ([row[:4] for row in of[name]] for of in (before, after))
        assert after[name] == before[name], name
    assert "already" in used_machine.run("store", "copy", postgres_url, "sqlite").out


@pytest.mark.slow
def test_copied_store_is_usable(used_machine: Machine, postgres_url: str) -> None:
    assert used_machine.run("store", "copy", "sqlite", postgres_url).code == 0
    (used_machine.home / "hookline.db").rename(used_machine.home / "hookline.db.old")
    env = {"HOOKLINE_STORE": postgres_url}
    found = used_machine.run("sessions", "search", "zebra", "--json", env=env)
    assert found.code == 0, found.err
    assert used_machine.run("run", "and now?", "--session", "one", env=env).out == "hello\n"
    facts = used_machine.run("memory", "list", env=env)
    assert "Uses Debian 12" in facts.out
    assert "api/key" in used_machine.run("vault", "list", env=env).out
    assert not (used_machine.home / "hookline.db").exists()
    older = used_machine.run("store", "copy", used_machine.home / "hookline.db.old", postgres_url)
    assert older.code == 1
    assert "holds other data" in older.err
    assert is_sentence(older.err)


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 9])
def test_killed_store_copy_resumes_and_its_target_is_unusable_until_then(
    used_machine: Machine, postgres_url: str, nth: int
) -> None:
    killed = used_machine.run(
        "store", "copy", "sqlite", postgres_url, env={"HOOKLINE_CRASH_AT": f"mid-copy:{nth}"}
    )
    assert killed.code == -signal.SIGKILL
    half = used_machine.run("run", "hello", env={"HOOKLINE_STORE": postgres_url})
    assert half.code == 1
    assert "unfinished copy" in half.err
    assert (
        used_machine.run("run", "more", "--session", "s3").code == 0
    )  # the source goes on meanwhile
    other = used_machine.run("store", "copy", used_machine.home.parent / "home", postgres_url)
    assert other.code == 0, other.err  # the same file by another name
    equal = used_machine.run("store", "copy", "sqlite", postgres_url)
    assert "already" in equal.out
    assert used_machine.run("run", "hello", env={"HOOKLINE_STORE": postgres_url}).code == 0


@pytest.mark.slow
def test_store_copy_refuses_while_another_process_works(
    used_machine: Machine, postgres_url: str
) -> None:
    ready = {"name": "write_file", "arguments": {"path": "ready", "content": "x"}}
    slow = used_machine.script({"tools": [ready]}, {"text": "late", "delay": 60}, name="slow.yaml")
    for source, target in (("sqlite", postgres_url), (postgres_url, "sqlite")):
        env = {"HOOKLINE_MODEL": slow, "HOOKLINE_STORE": source}
        process = used_machine.start("run", "wait", env=env)
        try:
            used_machine.wait_for("ready")
            (used_machine.workspace / "ready").unlink()
            for places in ((source, target), (target, source)):
                refused = used_machine.run("store", "copy", *places)
                assert refused.code == 1
                assert "is in use by" in refused.err
                assert is_sentence(refused.err)
        finally:
            process.kill()
            process.communicate()
        assert (
            used_machine.run("store", "copy", "sqlite", postgres_url).code == 0
            or source != "sqlite"
        )


@pytest.mark.slow
def test_migrate_store_creates_and_reports_every_table(machine: Machine, postgres_url: str) -> None:
    for store in ("sqlite", postgres_url):
        env = {"HOOKLINE_STORE": store}
        first = machine.run("migrate-store", "--json", env=env)
        assert first.code == 0, first.err
        steps = first.json["steps"]
        assert min(steps[name] for name in ("core", "storage", "memory", "skills", "vault")) > 0
        again = machine.run("migrate-store", env=env)
        assert "nothing to do" in again.out, again
        assert os.sep in first.json["store"]
