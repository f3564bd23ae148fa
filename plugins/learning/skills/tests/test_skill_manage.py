"""``skill_manage``: writes by the agent, refusals, and versions."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hypothesis import given
from hypothesis import strategies as st

from .conftest import POISON, REDACTED, SECRET, Bench, skill_text

DEPLOY = "Deploy the web shop with docker compose on the server."


def test_skill_is_created_as_written(bench: Bench) -> None:
    result = bench.create("deploy-shop", DEPLOY, "1. pull\n2. up")
    assert result.ok
    assert bench.text("deploy-shop") == skill_text("deploy-shop", DEPLOY, "1. pull\n2. up")
    assert "deploy-shop" in bench.view("deploy-shop").text


def test_skill_passes_pre_learn_once_and_is_stored_redacted(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY, f"Log in with {SECRET}.")
    assert [(one.kind, one.source) for one in bench.gate.learnt] == [
        ("skill", "skills/deploy-shop/SKILL.md")
    ]
    assert REDACTED in bench.text("deploy-shop")
    assert SECRET not in bench.text("deploy-shop")


def test_refused_text_changes_nothing(bench: Bench) -> None:
    result = bench.create("deploy-shop", DEPLOY, POISON)
    assert result.text.startswith("Denied: it tries to give orders")
    assert not (bench.root / "deploy-shop").exists()
    bench.create("deploy-shop", DEPLOY, "1. pull")
    before = bench.text("deploy-shop")
    patched = bench.manage("patch", "deploy-shop", old_string="1. pull", new_string=POISON)
    assert patched.text.startswith("Denied: ")
    assert bench.text("deploy-shop") == before
    wrote = bench.manage("write_file", "deploy-shop", file="references/a.md", content=POISON)
    assert wrote.text.startswith("Denied: ")
    assert not (bench.root / "deploy-shop" / "references").exists()
    assert [v.action for v in bench.versions("deploy-shop")] == ["create"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "content must be the whole SKILL.md"),
        ("Just text.", "must start with YAML frontmatter"),
        ("---\nname: deploy-shop\n---\nx", "description"),
        ("---\nname: other\ndescription: x\n---\nx", "must match skill name"),
        ("---\nname: deploy-shop\ndescription: x\nversion: 1\n---\nx", "version"),
        ("---\nname: deploy-shop\ndescription: [x\n---\nx", "not valid"),
        ("---\nname: deploy-shop\ndescription: x\n---\n", "nothing follows the front matter"),
        (f"---\nname: deploy-shop\ndescription: x\n---\n{'x' * 24_000}", "the limit is 24,000"),
    ],
)
def test_invalid_content_is_refused_with_the_reason(
    bench: Bench, content: str | None, reason: str
) -> None:
    arguments = {} if content is None else {"content": content}
    result = bench.manage("create", "deploy-shop", **arguments)
    assert not result.ok
    assert reason in result.text
    assert not (bench.root / "deploy-shop").exists()


def test_skill_made_invalid_by_pre_learn_is_refused(bench: Bench) -> None:
    front = f"---\nname: {SECRET}\ndescription: x\n---\nx"
    assert "not valid" in bench.manage("create", SECRET, content=front).text
    assert not list(bench.root.glob("*"))


def test_patch_matches_text_like_edit_file(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY, "1. pull\n\n    2. up  \n3. check")
    result = bench.manage("patch", "deploy-shop", old_string="2. up\n3. check", new_string="2. go")
    assert result.ok, result.text
    assert "1 replacement(s), strategy" in result.text
    assert "2. go" in bench.text("deploy-shop")
    missing = bench.manage("patch", "deploy-shop", old_string="nowhere", new_string="x")
    assert missing.text.startswith("Error: ")
    broken = bench.manage(
        "patch", "deploy-shop", old_string="description:", new_string="descriptions:"
    )
    assert "not valid" in broken.text


def test_files_are_written_patched_and_removed(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY)
    bench.manage("write_file", "deploy-shop", file="references/hosts.md", content="web1\nweb2\n")
    bench.manage(
        "patch", "deploy-shop", file="references/hosts.md", old_string="web2", new_string="web3"
    )
    assert bench.text("deploy-shop", "references/hosts.md") == "web1\nweb3\n"
    assert bench.view("deploy-shop", "references/hosts.md").text.strip() == "web1\nweb3"
    assert "references/hosts.md" in bench.view("deploy-shop").text
    bench.manage("remove_file", "deploy-shop", file="references/hosts.md")
    assert not (bench.root / "deploy-shop" / "references").exists()
    assert (
        "has no file" in bench.manage("remove_file", "deploy-shop", file="references/hosts.md").text
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "file",
    [
        *("SKILL.md", "../x.md", "/etc/passwd", "references", "references/../../x", ".hookline"),
        *("references/.git/config", "other/x.md", "references\\..\\x", "~/x", "a:b", ""),
    ],
)
def test_file_paths_outside_the_skill_are_refused(bench: Bench, file: str, tmp_path: Path) -> None:
    bench.create("deploy-shop", DEPLOY)
    before = sorted(str(path) for path in tmp_path.rglob("*") if "home/data" not in str(path))
    result = bench.manage("write_file", "deploy-shop", file=file, content="x")
    assert not result.ok
    after = sorted(str(path) for path in tmp_path.rglob("*") if "home/data" not in str(path))
    assert [one for one in after if one not in before and "/workspace" not in one] == []


def test_file_behind_a_link_is_not_written(bench: Bench, tmp_path: Path) -> None:
    bench.create("deploy-shop", DEPLOY)
    outside = tmp_path / "outside"
    outside.mkdir()
    (bench.root / "deploy-shop" / "references").symlink_to(outside)
    result = bench.manage("write_file", "deploy-shop", file="references/x.md", content="x")
    assert "link" in result.text
    assert not list(outside.iterdir())


def test_hand_written_skills_are_not_changed(bench: Bench) -> None:
    folder = bench.write("deploy-shop", DEPLOY)
    before = (folder / "SKILL.md").read_bytes()
    content = skill_text("deploy-shop", DEPLOY, "other")
    for arguments in (
        {"action": "edit", "content": content},
        {"action": "patch", "old_string": "order", "new_string": "chaos"},
        {"action": "write_file", "file": "references/a.md", "content": "x"},
        {"action": "remove_file", "file": "references/a.md"},
        {"action": "delete"},
    ):
        result = bench.call(calls("skill_manage", name="deploy-shop", **arguments))[0]
        assert result.text.startswith("Denied: the skill deploy-shop was not made by the agent")
    assert (folder / "SKILL.md").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]


def test_folder_that_replaces_an_agent_skill_counts_as_hand_written(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY)
    (bench.root / "deploy-shop").rename(bench.home / "away")
    bench.write("deploy-shop", DEPLOY)
    assert bench.manage("delete", "deploy-shop").text.startswith("Denied: ")


def test_hand_written_skills_may_be_changed_if_allowed(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(allow_editing_hand_written=True)
    bench.write("deploy-shop", DEPLOY)
    assert bench.manage("patch", "deploy-shop", old_string="order", new_string="turn").ok
    assert [v.action for v in bench.versions("deploy-shop")] == ["found", "patch"]


def test_pinned_skills_are_never_changed(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(allow_editing_hand_written=True)
    bench.create("deploy-shop", DEPLOY)
    bench.harness.run(bench.skills.records.pin("deploy-shop"))
    result = bench.manage("patch", "deploy-shop", old_string="order", new_string="turn")
    assert result.text.startswith("Denied: the skill deploy-shop is pinned")
    bench.harness.run(bench.skills.records.unpin("deploy-shop"))
    assert bench.manage("patch", "deploy-shop", old_string="order", new_string="turn").ok


def test_sub_agent_cannot_change_skills(bench: Bench) -> None:
    content = skill_text("deploy-shop", DEPLOY)
    bench.harness.model.steps += [
        calls("send_agent"),
        calls("skill_manage", action="create", name="deploy-shop", content=content),
        "Sub-agent done.",
        "Done.",
    ]
    assert "a sub-agent cannot change skills" in bench.harness.send("go").tool_calls[0].text


def test_operator_alone_writes_if_configured(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(writers="operator")
    content = skill_text("deploy-shop", DEPLOY)
    create = calls("skill_manage", action="create", name="deploy-shop", content=content)
    bench.harness.model.steps += [create, "no"]

    channel = bench.harness.channel

    async def elsewhere() -> None:
        await channel.say("go", chat="group")
        await channel.replies(1)

    bench.harness.run(elsewhere())
    assert not (bench.root / "deploy-shop").exists()
    assert bench.create("deploy-shop", DEPLOY).ok


def test_change_names_the_turn_it_was_learnt_from(bench: Bench) -> None:
    bench.harness.model.steps += ["Deployed."]
    turn = bench.harness.send("deploy it").turn
    content = skill_text("deploy-shop", DEPLOY)
    create = calls("skill_manage", action="create", name="deploy-shop", content=content)
    bench.harness.model.steps += [create, "Nothing to save."]
    bench.harness.run(bench.skills.host.fork("test", "Review."))
    (version,) = bench.versions("deploy-shop")
    assert (version.author, version.session_id, version.turn_id) == ("review", "test", turn.id)


@pytest.mark.slow
def test_every_change_is_a_version_including_edits_by_hand(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY, "one")
    bench.manage("patch", "deploy-shop", old_string="one", new_string="two")
    file = bench.root / "deploy-shop" / "SKILL.md"
    file.write_text(file.read_text("utf-8").replace("two", "by hand"), "utf-8")
    bench.manage("patch", "deploy-shop", old_string="by hand", new_string="three")
    bench.manage("delete", "deploy-shop")
    versions = bench.versions("deploy-shop")
    assert [v.action for v in versions] == ["create", "patch", "found", "patch", "delete"]
    bodies = [bench.harness.run(bench.skills.history.files(v)) for v in versions[:-1]]
    found = [body["SKILL.md"].decode().rsplit("\n\n", 1)[1].strip() for body in bodies]
    assert found == ["one", "two", "by hand", "three"]
    assert not (bench.root / "deploy-shop").exists()


@pytest.mark.slow
def test_number_of_versions_is_limited(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(versions=3)
    bench.create("deploy-shop", DEPLOY, "step 0")
    for number in range(5):
        bench.manage(
            "patch", "deploy-shop", old_string=f"step {number}", new_string=f"step {number + 1}"
        )
    assert [v.number for v in bench.versions("deploy-shop")] == [4, 5, 6]


def test_edit_that_duplicates_another_skill_is_refused(bench: Bench) -> None:
    bench.create("deploy-shop", DEPLOY)
    bench.create("water-plants", "Water the plants on the balcony.")
    content = skill_text("water-plants", DEPLOY)
    result = bench.manage("edit", "water-plants", content=content)
    assert "the skill deploy-shop already covers this" in result.text
    assert bench.manage(
        "edit", "water-plants", content=skill_text("water-plants", "Water all plants.", "More.")
    ).ok


@pytest.mark.slow
def test_full_disk_leaves_every_file_unchanged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create("deploy-shop", DEPLOY, "one")
    there = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        change = {"old_string": "one", "new_string": "two"}
        assert "No space left" in bench.manage("patch", "deploy-shop", **change).text
        written = bench.manage("write_file", "deploy-shop", file="references/a.md", content="x")
        assert "No space left" in written.text
        assert "No space left" in bench.create("water-plants", "Water the plants.").text
    after = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    assert after == there
    assert bench.manage("patch", "deploy-shop", **change).ok
    assert "two" in bench.text("deploy-shop")


KILLED = """
import sys
from pathlib import Path
from hookline_skills.folders import place_folder
from hookline_skills.safe_files import write_bytes
root = Path(sys.argv[1])
print("ready", flush=True)
for number in range(10**9):
    body = (str(number % 10) * 200_000).encode()
    write_bytes(root, "SKILL.md", body)
    if number < 200:
        place_folder(root, f"skill-{number}", {"SKILL.md": body, "references/a.md": body})
"""


@pytest.mark.slow
def test_kill_leaves_every_file_whole(tmp_path: Path) -> None:
    for number in range(6):
        root = tmp_path / str(number)
        root.mkdir()
        command = [sys.executable, "-c", KILLED, str(root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while not (root / f"skill-{number}").exists():
                assert process.poll() is None
            process.kill()
        files = [path for path in root.rglob("*.md") if ".staging" not in path.parts]
        assert len(files) >= 3
        for path in files:
            text = path.read_text("ascii")
            assert len(text) == 200_000
            assert len(set(text)) == 1
        made = [path for path in root.iterdir() if path.is_dir() and path.name != ".staging"]
        assert all(len(list(path.rglob("*.md"))) == 2 for path in made)


NAMES = st.text(st.characters(codec="utf-8"), max_size=80)


@pytest.mark.slow
@given(name=NAMES, file=NAMES)
def test_any_name_and_path_stays_inside_the_skills_folder(
    bench: Bench, tmp_path: Path, name: str, file: str
) -> None:
    bench.create("known")
    there = {path for path in tmp_path.rglob("*") if bench.root not in path.parents}
    first = calls("skill_manage", action="create", name=name, content=skill_text("x"))
    second = calls("skill_manage", action="write_file", name=name, file=file, content="x")
    results: list[Any] = bench.call(first, second, calls("skill_view", name=name, file=file))
    assert len(results) == 3
    after = {path for path in tmp_path.rglob("*") if bench.root not in path.parents}
    assert after == there
