"""The history of a repository is kept with each checkpoint, and a rewind brings it back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Clock

from .conftest import WorkspaceChat, undo_of
from .test_limits import DAY, work_off


def slow(*values: object) -> object:
    """A case of a matrix of which quick runs test a part."""
    return pytest.param(*values, marks=pytest.mark.slow)


RESTORE, LEAVE = "Restore the history", "Leave the history as it is"


def git(folder: Path, *words: str) -> str:
    """Run git as a person would, and return what it prints."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "FILTER_BRANCH_SQUELCH_WARNING": "1"}
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True, env=quiet
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str = "x") -> str:
    """Commit one file; return the commit."""
    (folder / name).write_text(text)
    git(folder, "add", name)
    git(folder, "commit", "-qm", f"add {name}")
    return git(folder, "rev-parse", "HEAD")


def names(folder: Path) -> list[str]:
    """HEAD, branches, tags and stash entries with what they name."""
    refs = git(
        folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"
    )
    stash = git(folder, "stash", "list", "--format=%H %gs")
    return [git(folder, "symbolic-ref", "HEAD"), *refs.splitlines(), *stash.splitlines()]


def build(folder: Path) -> None:
    """Make a repository with branches, tags, a remote and two stash entries."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name in ("one", "two", "three"):
        commit(folder, name)
    git(folder, "tag", "v1")
    git(folder, "tag", "-am", "annotated", "v2", "HEAD~1")
    git(folder, "remote", "add", "origin", "https://example.org/x.git")
    git(folder, "checkout", "-qb", "feature")
    commit(folder, "feature")
    git(folder, "checkout", "-q", "main")
    for name in ("first", "second"):
        (folder / "one").write_text(name)
        git(folder, "stash", "push", "-qm", name)


@pytest.fixture
def repository(chat: WorkspaceChat) -> WorkspaceChat:
    """A workspace that is a repository."""
    build(chat.work)
    return chat


def test_repository_without_commits_has_no_history_to_lose(chat: WorkspaceChat) -> None:
    git(chat.work, "init", "-q")
    chat.turn("write", lambda: chat.put("one", "x"))
    (hash_,) = chat.hashes()
    answer = chat.rewind(hash_)
    assert "1 file removed" in answer
    assert "history" not in answer


def test_deleted_repository_is_restored(repository: WorkspaceChat) -> None:
    work = repository.work
    before = names(work)
    repository.put("one", "edited")
    repository.turn("clean up", lambda: shutil.rmtree(work / ".git"))
    (hash_,) = repository.hashes()
    assert "  history changed  clean up" in repository.rewind()
    answer = repository.rewind(hash_)
    assert ".git is gone or damaged, with 4 branches and tags and 2 stash entries" in answer
    assert f"To restore it: /rewind {hash_} history" in answer
    repository.rewind(f"{hash_} history")
    assert names(work) == before
    assert git(work, "status", "--short") == "M one"
    assert git(work, "remote", "-v").startswith("origin\thttps://example.org/x.git")
    git(work, "fsck", "--full")


@pytest.mark.long
@pytest.mark.parametrize(
    ("commands", "line"),
    [
        (["branch -D feature"], "branch feature ("),
        (["reset -q --hard HEAD~2"], "branch main: "),
        (["stash drop -q"], "stash entry dropped: On main: second"),
        slow(["stash clear"], "stash entry dropped: On main: first"),
        slow(["commit -q --amend -m other"], "branch main: "),
        slow(["tag -d v1", "tag -f v2"], "tag v2: "),
        slow(["filter-branch -f --msg-filter cat;echo -- --all"], "branch feature: "),
        (
            ["branch -D feature", "reflog expire --expire=now --all", "gc -q --prune=now"],
            "branch feature (",
        ),
    ],
)
def test_lost_history_is_offered_and_restored(
    repository: WorkspaceChat, commands: list[str], line: str
) -> None:
    work = repository.work
    before = names(work)

    def act() -> None:
        for command in commands:
            git(work, *command.split())

    repository.turn("tidy", act)
    after = git(work, "rev-parse", "main")
    hash_ = repository.hashes()[0]
    repository.harness.answers[:] = ["Files only", RESTORE]
    answer = repository.say(f"/rewind {hash_}").text
    question = repository.harness.questions[-1]
    assert question.text.startswith("The history of the repository has changed since.")
    assert line in question.preview
    assert set(before) <= set(names(work))
    assert git(work, "status", "--short") == ""
    git(work, "fsck", "--full")
    if after != git(work, "rev-parse", "main"):
        words = [word.strip(",") for word in answer.split()]
        (kept,) = [word for word in words if word.endswith("/heads/main")]
        assert git(work, "rev-parse", kept) == after


def test_commits_of_the_person_are_not_lost(repository: WorkspaceChat) -> None:
    work = repository.work
    main = git(work, "rev-parse", "main")
    repository.turn("reset", lambda: git(work, "reset", "-q", "--hard", "HEAD~1"))
    mine = commit(work, "mine")
    git(work, "branch", "topic")
    git(work, "stash", "drop", "-q")
    (work / "one").write_text("third")
    git(work, "stash", "push", "-qm", "third")
    (work / "staged").write_text("staged")
    git(work, "add", "staged")
    answer = repository.rewind(f"{repository.hashes()[0]} history")
    assert git(work, "rev-parse", "main") == main
    assert git(work, "rev-parse", "topic") == mine
    kept = [word.strip(",") for word in answer.split() if word.startswith("refs/before-rewind/")]
    assert [name.split("/", 3)[-1] for name in kept] == ["heads/main", "index"]
    assert git(work, "rev-parse", kept[0]) == mine
    assert git(work, "show", f"{kept[1]}:staged") == "staged"
    stash = git(work, "stash", "list", "--format=%gs").splitlines()
    assert stash == ["On main: second", "On main: third", "On main: first"]


def test_new_commits_are_not_lost_history(repository: WorkspaceChat) -> None:
    work = repository.work
    repository.turn("work", lambda: commit(work, "agent"))
    answer = repository.rewind(repository.hashes()[0])
    assert "history" not in answer
    assert "lost nothing" in repository.rewind(f"{repository.hashes()[0]} history")


def test_list_shows_the_turn_in_which_history_was_lost(repository: WorkspaceChat) -> None:
    repository.turn("break", lambda: git(repository.work, "branch", "-D", "feature"))
    repository.put("one", "edited")
    repository.turn("work", lambda: commit(repository.work, "agent"))
    newest, oldest = repository.rewind().splitlines()[1:]
    assert "  history changed  break" in oldest
    assert "history" not in newest


def test_left_history_stays(repository: WorkspaceChat) -> None:
    repository.turn("delete", lambda: git(repository.work, "branch", "-D", "feature"))
    before = names(repository.work)
    for answers in (["Files only", LEAVE], ["Files only", "Cancel"], ["Files only"]):
        repository.harness.answers[:] = answers
        repository.say(f"/rewind {repository.hashes()[0]}")
        assert names(repository.work) == before


def test_rewind_of_the_history_can_be_undone(repository: WorkspaceChat) -> None:
    work = repository.work
    repository.turn("checkout", lambda: git(work, "checkout", "-qb", "other", "HEAD~1"))
    hash_ = repository.hashes()[0]
    answer = repository.rewind(f"{hash_} files history")
    assert "checked out: branch main → branch other" in answer
    assert git(work, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(work, "status", "--short") == ""
    repository.rewind(f"{undo_of(answer)} files history")
    assert git(work, "symbolic-ref", "HEAD") == "refs/heads/other"
    assert git(work, "status", "--short") == ""


def test_damaged_objects_are_restored(repository: WorkspaceChat) -> None:
    work = repository.work

    def act() -> None:
        for path in (work / ".git/objects").rglob("*"):
            if path.is_file():
                path.unlink()

    before = names(work)
    repository.turn("free space", act)
    answer = repository.rewind(f"{repository.hashes()[0]} history")
    assert "branch main: commits are missing" in answer
    assert names(work) == before
    git(work, "fsck", "--full")


def test_planted_settings_and_hooks_do_not_run(repository: WorkspaceChat, tmp_path: Path) -> None:
    work, trace = repository.work, tmp_path / "trace"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\nexit 0\n')
    program.chmod(0o755)
    settings = f"""
[core]
    hooksPath = {tmp_path}/hooks
    fsmonitor = {program}
    sshCommand = {program}
    alternateRefsCommand = {program}
    worktree = {tmp_path}/elsewhere
[filter "x"]
    clean = {program}
    smudge = {program}
[uploadpack]
    packObjectsHook = {program}
[remote "origin"]
    url = ext::{program}
    uploadpack = {program}
    promisor = true
[extensions]
    partialClone = origin
[diff]
    external = {program}
"""

    def act() -> None:
        for folder in (work / ".git/hooks", tmp_path / "hooks"):
            folder.mkdir(exist_ok=True)
            for name in ("reference-transaction", "post-index-change", "post-checkout"):
                shutil.copy(program, folder / name)
        git(work, "update-ref", "-d", "refs/heads/feature")
        trace.unlink(missing_ok=True)
        with (work / ".git/config").open("a") as config:
            config.write(settings)
        (work / ".gitattributes").write_text("* filter=x\n")

    feature = git(work, "rev-parse", "feature")
    repository.turn("plant", act)
    repository.turn("more", lambda: repository.put("one", "more"))
    answer = repository.rewind(f"{repository.hashes()[-1]} history")
    assert (work / ".git/refs/heads/feature").read_text().strip() == feature, answer
    assert not trace.exists()


def test_planted_git_file_reaches_no_other_repository(
    repository: WorkspaceChat, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    build(other)
    before = names(other)

    def act() -> None:
        shutil.rmtree(repository.work / ".git")
        (repository.work / ".git").write_text(f"gitdir: {other}/.git\n")

    repository.turn("swap", act)
    git(other, "branch", "-D", "feature")
    for args in ("", " history", " files history"):
        answer = repository.rewind(f"{repository.hashes()[-1]}{args}")
        assert "of another work tree" in answer
    assert [name for name in before if "feature" not in name] == names(other)


def test_folder_that_became_a_link_leads_to_no_other_repository(
    chat: WorkspaceChat, tmp_path: Path
) -> None:
    build(chat.work / "lib")
    build(tmp_path / "other")
    before = names(tmp_path / "other")

    def act() -> None:
        shutil.rmtree(chat.work / "lib")
        (chat.work / "lib").symlink_to(tmp_path / "other")

    chat.turn("swap", act)
    hash_ = chat.hashes()[0]
    assert "is a link" in chat.rewind(f"{hash_} history")
    shutil.rmtree(tmp_path / "other")
    assert "is a link" in chat.rewind(f"{hash_} history")
    assert not (tmp_path / "other").exists()
    assert "is gone or damaged, with 4 branches" in chat.rewind(f"{hash_} files history")
    assert {name.split()[-1] for name in names(chat.work / "lib")} >= {"first", "second"}
    assert len(names(chat.work / "lib")) == len(before)


@pytest.mark.slow
def test_shallow_clone_is_restored(make_chat: Callable[..., WorkspaceChat], tmp_path: Path) -> None:
    build(tmp_path / "origin")
    work = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path}/origin", str(work))
    commit(work, "mine")
    chat = make_chat(work=work)
    before = names(work)
    chat.turn("delete", lambda: shutil.rmtree(work / ".git"))
    chat.rewind(f"{chat.hashes()[0]} history")
    assert names(work) == before
    assert git(work, "rev-list", "--count", "main") == "2"
    git(work, "fsck", "--full")


@pytest.mark.long
@pytest.mark.parametrize("damage", ["HEAD", "refs", "config", "objects"])
def test_damaged_git_folder_is_restored(repository: WorkspaceChat, damage: str) -> None:
    work = repository.work
    before = names(work)

    def act() -> None:
        path = work / ".git" / damage
        path.write_text("x") if path.is_file() else shutil.rmtree(path)

    repository.turn("damage", act)
    mine = (work / ".git/config").read_text()
    repository.rewind(f"{repository.hashes()[0]} history")
    if damage == "config":
        assert (work / ".git/config").read_text() == mine, "only a deleted one comes back"
    else:
        assert set(names(work)) == set(before)
        git(work, "fsck", "--full")


def test_linked_worktree_and_submodule_are_restored(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    main, library = tmp_path / "main", tmp_path / "library"
    build(main)
    build(library)
    work = tmp_path / "linked"
    git(main, "worktree", "add", "-q", str(work), "-b", "linked")
    allow = ("-c", "protocol.file.allow=always")
    git(work, *allow, "submodule", "--quiet", "add", str(library), "lib")
    git(work, "commit", "-qm", "submodule")
    chat = make_chat(work=work)
    commit(work / "lib", "new")
    before = names(work), names(work / "lib")

    def act() -> None:
        git(work, "branch", "-D", "feature")
        git(work, "reset", "-q", "--soft", "HEAD~1")
        git(work / "lib", "reset", "-q", "--hard", "HEAD~1")

    chat.turn("break", act)
    answer = chat.rewind(f"{chat.hashes()[0]} files history")
    assert "branch main: " in answer
    assert answer.count("in lib") == 1
    assert (names(work), names(work / "lib")) == before
    assert git(main, "rev-parse", "feature")


def test_kept_histories_are_pruned_with_the_checkpoints(
    repository: WorkspaceChat, clock: Clock
) -> None:
    history = repository.home / "checkpoints/history"
    repository.turn("one", lambda: repository.put("a", "1"))
    assert [*history.glob("*/states/*")]
    clock.ahead(8 * DAY)
    work_off(repository)
    assert not [*history.glob("*")]
    assert not [*(repository.home / "checkpoints/folders").glob("*/histories/*")]


def test_dropped_commits_are_deleted_from_disk(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_snapshots": 1})
    build(chat.work)
    lost = git(chat.work, "rev-parse", "feature")
    chat.turn("delete", lambda: git(chat.work, "branch", "-D", "feature"))
    (store,) = (chat.home / "checkpoints/history").glob("*/git")
    assert lost in git(store, "for-each-ref", "refs/kept")
    commit(chat.work, "more")
    chat.turn("next", lambda: chat.put("a", "1"))
    work_off(chat)
    assert lost not in git(store, "for-each-ref", "refs/kept")
    assert lost not in git(store, "cat-file", "--batch-check", "--batch-all-objects")
    git(store, "fsck", "--full")


def test_large_repository_is_not_kept_and_reported(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_history_mb": 1})
    build(chat.work)
    (chat.work / "large").write_bytes(os.urandom(1_100_000))
    git(chat.work, "add", "large")
    git(chat.work, "commit", "-qm", "large")
    (warning,) = chat.warnings(chat.turn("one", lambda: chat.put("a", "1")))
    assert "has more than 1 MB" in warning
    assert chat.warnings(chat.turn("two", lambda: chat.put("a", "2"))) == []
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "a").read_text() == "1"
