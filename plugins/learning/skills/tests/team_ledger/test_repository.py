"""A git repository as the store, with the real git."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from hookline_teamskills import GitStore, Signer, StoreChanged, StoreUnreachable, TeamEntry, merge

FILES = {"SKILL.md": b"one\n", "references/ue.md": "ü\n".encode()}


@pytest.fixture
def url(tmp_path: Path) -> str:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    return f"file://{tmp_path / 'team.git'}"


@pytest.fixture
def ann(tmp_path: Path) -> Signer:
    return Signer.open(tmp_path / "ann.json", "ann")


def proposed(signer: Signer, number: int = 1, name: str = "ship") -> TeamEntry:
    return signer.sign(TeamEntry(name, number, "proposed", 1, "", "", signer.name, signer.key))


async def test_entry_added_by_one_store_is_read_by_another(
    url: str, tmp_path: Path, ann: Signer
) -> None:
    one, other = GitStore(url, tmp_path / "1"), GitStore(url, tmp_path / "2")
    assert await other.load() == ("", [], [])
    await one.append("", [proposed(ann)], {1: FILES})
    tip, entries, odd = await other.load()
    assert tip == await other.tip() != ""
    assert (entries, odd) == ([proposed(ann)], [])
    assert await other.files("ship", 1) == FILES
    assert await other.files("ship", 2) == {}


async def test_concurrent_appends_have_one_winner(url: str, tmp_path: Path, ann: Signer) -> None:
    stores = [GitStore(url, tmp_path / str(n)) for n in range(4)]
    for tip in ("", "next"):
        start = tip and await stores[0].tip()
        adding = [
            store.append(start, [proposed(ann, 2 if tip else 1, f"s{n}")], {})
            for n, store in enumerate(stores)
        ]
        ended = await asyncio.gather(*adding, return_exceptions=True)
        assert sum(one is None for one in ended) == 1
        assert all(one is None or isinstance(one, StoreChanged) for one in ended), ended


async def test_rewritten_history_is_refused(url: str, tmp_path: Path, ann: Signer) -> None:
    one, other = GitStore(url, tmp_path / "1"), GitStore(url, tmp_path / "2")
    await one.append("", [proposed(ann)], {1: FILES})
    await other.load()
    bare = url.removeprefix("file://")
    subprocess.run(["git", "-C", bare, "update-ref", "-d", "refs/heads/main"], check=True)
    with pytest.raises(StoreUnreachable, match="is missing"):
        await other.load()
    await GitStore(url, tmp_path / "3").append("", [proposed(ann, name="other")], {})
    with pytest.raises(StoreUnreachable, match="was rewritten"):
        await other.load()
    assert [entry.name for entry in (await other.load_copy())[1]] == ["ship"]


@pytest.mark.slow
async def test_lock_of_a_killed_process_is_ignored(url: str, tmp_path: Path, ann: Signer) -> None:
    one, other = GitStore(url, tmp_path / "1"), GitStore(url, tmp_path / "2")
    await one.append("", [proposed(ann)], {1: FILES})
    await other.load()
    await one.append(await one.tip(), [proposed(ann, 2)], {2: FILES})
    lock = tmp_path / "2" / "copy.git" / "refs" / "heads" / "team.lock"
    lock.touch()
    assert len((await other.load())[1]) == 2


async def test_invalid_entry_is_named(url: str, tmp_path: Path, ann: Signer) -> None:
    one = GitStore(url, tmp_path / "1")
    await one.append("", [proposed(ann)], {1: FILES})
    work = tmp_path / "work"
    git = ["git", "-C", str(work), "-c", "user.name=e", "-c", "user.email=e@x"]
    subprocess.run(["git", "clone", "-q", "-b", "main", url, str(work)], check=True)
    (work / "skills/ship/1/approved.json").write_text('{"name": "ship"}', "utf-8")
    (work / "skills/ship/1/revoked.json").symlink_to("/etc/passwd")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    subprocess.run([*git, "push", "-q", "origin", "HEAD:main"], check=True)
    _, entries, odd = await one.load()
    assert [entry.kind for entry in entries] == ["proposed"]
    assert len(odd) == 1
    assert "approved.json is not accepted" in odd[0]


async def test_missing_repository_gives_an_error_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="git ls-remote failed"):
        await GitStore(f"file://{tmp_path}/none.git", tmp_path / "1").load()


async def test_repository_hooks_do_not_run(url: str, tmp_path: Path, ann: Signer) -> None:
    hook = Path(url.removeprefix("file://")) / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", "utf-8")
    hook.chmod(0o755)
    await GitStore(url, tmp_path / "1").append("", [proposed(ann)], {})
    assert not (tmp_path / "ran").exists()


def test_changes_in_different_places_are_merged() -> None:
    base = b"a\n" * 3 + b"middle\n" + b"z\n" * 3
    ours, theirs = base.replace(b"a\n", b"A\n", 1), base + b"end\n"
    merged = merge({"f": base, "g": b"g"}, {"f": ours, "g": b"g", "new": b"n"}, {"f": theirs})
    assert merged.conflicts == ()
    assert merged.files == {"f": ours + b"end\n", "new": b"n"}


def test_conflicting_changes_are_left_to_a_person() -> None:
    merged = merge({"f": b"a\n"}, {"f": b"b\n"}, {"f": b"c\n"})
    assert merged.conflicts == ("f",)
    assert b"<<<<<<< approved" in merged.files["f"]
    assert merge({}, {"f": b"b\n"}, {"f": b"c\n"}).conflicts == ("f",)
    assert merge({"f": b"a\n"}, {"f": b"b\n"}, {}).conflicts == ("f",)
    assert merge({}, {"f": b"b\n"}, {"f": b"b\n"}).conflicts == ()
