"""Archiving and restoring unused skills; the commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import closing

import pytest
from hookline.testing import Clock
from hookline_skills.archive import archive_skill, restore_skill
from hookline_skills.folders import SkillNotFound

from .conftest import Bench

Run = Callable[..., subprocess.CompletedProcess[str]]
SHOP = "Deploy the web shop with docker compose."

DAY = 86_400.0


def names(bench: Bench) -> set[str]:
    return set(bench.skills.library.skills())


def test_idle_skills_of_the_agent_are_archived(bench: Bench, clock: Clock) -> None:
    bench.write("by-hand", "Written by a person.")
    for name, text in (
        ("water-plants", "Water the plants."),
        ("bake-bread", "Bake bread."),
        ("fix-bike", "Mend a puncture."),
    ):
        assert bench.create(name, text).ok
    bench.harness.run(bench.skills.records.pin("fix-bike"))
    clock.ahead(29 * DAY)
    bench.keep_up()
    assert len(names(bench)) == 4
    bench.view("bake-bread")
    clock.ahead(31 * DAY)
    bench.keep_up()
    assert names(bench) == {"by-hand", "bake-bread", "fix-bike"}
    assert (bench.root / ".archived" / "water-plants" / "SKILL.md").is_file()
    clock.ahead(60 * DAY)
    bench.keep_up()
    assert names(bench) == {"by-hand", "fix-bike"}
    bench.harness.run(restore_skill(bench.skills, "bake-bread", None))
    bench.keep_up()
    assert "bake-bread" in names(bench)
    assert bench.manage("patch", "bake-bread", old_string="order", new_string="turn").ok


def test_injection_and_a_patch_count_as_use(bench: Bench, clock: Clock) -> None:
    bench.create("water-plants", "Water the plants.")
    bench.create("bake-bread", "Bake bread in the oven.")
    clock.ahead(20 * DAY)
    bench.say("please water the plants")
    bench.manage("patch", "bake-bread", old_string="order", new_string="turn")
    clock.ahead(45 * DAY)
    bench.keep_up()
    assert names(bench) == {"water-plants", "bake-bread"}


def test_archive_keeps_older_skill_of_the_same_name(bench: Bench) -> None:
    for body in ("first", "second"):
        bench.write("deploy-shop", SHOP, body)
        bench.harness.run(archive_skill(bench.skills, "deploy-shop"))
    bench.harness.run(restore_skill(bench.skills, "deploy-shop", None))
    assert "second" in bench.text("deploy-shop")
    with pytest.raises(SkillNotFound, match="archive it first"):
        bench.harness.run(restore_skill(bench.skills, "deploy-shop@1", None))
    bench.harness.run(archive_skill(bench.skills, "deploy-shop"))
    bench.harness.run(restore_skill(bench.skills, "deploy-shop@1", None))
    assert "first" in bench.text("deploy-shop")


def test_version_is_restored_with_all_files(bench: Bench) -> None:
    bench.create("deploy-shop", SHOP, "one")
    bench.manage("write_file", "deploy-shop", file="references/a.md", content="A")
    bench.manage("patch", "deploy-shop", old_string="one", new_string="two")
    bench.harness.run(restore_skill(bench.skills, "deploy-shop", 1))
    assert bench.text("deploy-shop").rstrip().endswith("one")
    assert not (bench.root / "deploy-shop" / "references").exists()
    bench.harness.run(restore_skill(bench.skills, "deploy-shop", 3))
    assert bench.text("deploy-shop").rstrip().endswith("two")
    assert bench.text("deploy-shop", "references/a.md") == "A"
    bench.manage("delete", "deploy-shop")
    bench.harness.run(restore_skill(bench.skills, "deploy-shop", None))
    assert bench.text("deploy-shop").rstrip().endswith("two")
    assert bench.manage("patch", "deploy-shop", old_string="two", new_string="three").ok
    with pytest.raises(SkillNotFound):
        bench.harness.run(restore_skill(bench.skills, "never-was", None))


def test_contents_of_dropped_versions_are_deleted(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(versions=1)
    bench.create("deploy-shop", SHOP, "step 0")
    for number in range(3):
        bench.manage(
            "patch", "deploy-shop", old_string=f"step {number}", new_string=f"step {number + 1}"
        )
    bench.keep_up()
    storage = bench.skills.host.storage
    assert len(bench.harness.run(storage.fetch("blobs"))) == 1


@pytest.mark.slow
def test_commands_list_pin_show_archive_and_restore_skills(bench: Bench, hookline: Run) -> None:
    with closing(bench.harness):
        bench.write("by-hand", "Written by a person.")
        bench.create("deploy-shop", SHOP, "one")
        bench.view("deploy-shop")
    rows = {row["name"]: row for row in json.loads(hookline("skills", "list", "--json").stdout)}
    assert rows["by-hand"]["origin"] == "hand-written"
    assert (rows["deploy-shop"]["origin"], rows["deploy-shop"]["uses"]) == ("agent", 1)
    assert rows["deploy-shop"]["last_used"] is not None
    assert "used 1×" in hookline("skills", "list").stdout
    assert hookline("skills", "pin", "deploy-shop").returncode == 0
    shown = json.loads(hookline("skills", "show", "deploy-shop", "--json").stdout)
    assert (shown["pinned"], shown["versions"]) == (True, 1)
    assert shown["text"].rstrip().endswith("one")
    assert hookline("skills", "archive", "deploy-shop").returncode == 0
    archived = json.loads(hookline("skills", "list", "--json").stdout)
    assert [row["name"] for row in archived if row["archived"]] == ["deploy-shop"]
    assert hookline("skills", "restore", "deploy-shop").returncode == 0
    history = json.loads(hookline("skills", "history", "deploy-shop", "--json").stdout)
    assert [row["action"] for row in history] == ["create", "archive", "restore"]
    assert history[0]["session"] == "test"
    assert history[0]["turn"]
    missing = hookline("skills", "show", "nothing")
    assert missing.returncode == 1
    assert "no skill 'nothing'" in missing.stderr


@pytest.mark.slow
def test_slash_commands_need_no_model(bench: Bench, hookline: Run) -> None:
    with closing(bench.harness):
        bench.write("deploy-shop", SHOP)
    found = hookline("run", "/skills", "--model", "test/none")
    assert found.stdout.strip() == f"deploy-shop: {SHOP}", found.stderr
