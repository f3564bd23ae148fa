"""@changes, /diff and /review on real repositories."""

from __future__ import annotations

import time

import pytest

from .test_git import commit, git


@pytest.fixture
def repo(chat):
    git(chat.workspace, "init", "--quiet", "--initial-branch", "main")
    return chat


def _say(chat, text):
    return chat.harness.send(text).text


def test_changes_are_staged_unstaged_and_new_files(repo):
    repo.put("a.txt", "one\n")
    repo.put("b.txt", "one\n")
    repo.put(".gitignore", "ignored\n")
    commit(repo.workspace, "first")
    repo.put("a.txt", "two\n")
    repo.put("b.txt", "staged\n")
    git(repo.workspace, "add", "b.txt")
    repo.put("sub/new.txt", "fresh\n")
    repo.put("ignored", "never\n")
    repo.put("excluded", "never\n")
    (repo.workspace / ".git/info/exclude").write_text("excluded\n")
    before = git(repo.workspace, "status", "--porcelain")
    turn = repo("what is in @changes?")
    patch = turn.items["@changes"]
    for line in ("-one\n+two", "+staged", "+fresh", "sub/new.txt"):
        assert line in patch
    assert "never" not in patch
    assert git(repo.workspace, "status", "--porcelain") == before
    assert not git(repo.workspace, "fsck", "--unreachable").strip()


def test_changes_before_the_first_commit_are_all_files(repo):
    repo.put("a.txt", "one\n")
    assert "+one" in repo("@changes").items["@changes"]


def test_diff_shows_changes_and_says_if_there_are_none(repo):
    repo.put("a.txt", "one\n")
    commit(repo.workspace, "first")
    assert _say(repo, "/diff") == ("Nothing is changed. Name a base to compare with, such as main.")
    repo.put("a.txt", "```\x1b[31m\n")
    shown = _say(repo, "/diff")
    assert shown.startswith("````diff\ndiff --git a/a.txt b/a.txt\n")
    assert "-one\n+```\\x1b[31m" in shown
    assert not repo.harness.model.requests


def test_diff_takes_a_base_or_a_path(repo):
    repo.put("a.txt", "one\n")
    commit(repo.workspace, "first")
    git(repo.workspace, "checkout", "--quiet", "-b", "topic")
    repo.put("b c.txt", "theirs\n")
    commit(repo.workspace, "second")
    repo.put("a.txt", "two\n")
    shown = _say(repo, "/diff main")
    assert "+theirs" in shown
    assert "+two" in shown
    assert "+theirs" not in _say(repo, "/diff a.txt")
    assert "Nothing is changed in b c.txt." in _say(repo, "/diff b c.txt")
    for wrong in ("nowhere", "--output=x", "-p"):
        assert "is neither a file here nor a commit" in _say(repo, f"/diff {wrong}")
    assert "may not be read" in _say(repo, "/diff ..")


@pytest.mark.long
def test_diff_sees_an_edit_of_the_same_size_in_the_second_of_the_commit(repo):
    """Git compares whole seconds, and reads a file again if the index is no newer."""
    path, index = repo.workspace / "a.txt", repo.workspace / ".git/index"
    for number in range(20):
        time.sleep(1 - time.time() % 1)
        repo.put("a.txt", f"old {number:02}\n")
        commit(repo.workspace, "first")
        repo.put("a.txt", f"new {number:02}\n")
        if int(path.stat().st_mtime) == int(index.stat().st_mtime):
            break
    repo.put("other.txt", "new\n")
    time.sleep(1 - time.time() % 1)
    assert "+new" in _say(repo, "/diff a.txt")
    assert f"+new {number:02}" in _say(repo, "/diff")


def test_diff_and_review_leave_secret_files_out(repo):
    commit(repo.workspace, "first")
    repo.put(".env", "TOKEN=abc123\n")
    repo.put("a.txt", "two\n")
    shown = _say(repo, "/diff")
    assert "abc123" not in shown
    assert "shown without files that may not be read: .env" in shown


def test_review_sends_the_changes_to_the_model(repo):
    commit(repo.workspace, "first")
    assert "Nothing is changed." in _say(repo, "/review")
    assert not repo.harness.model.requests
    repo.put("my file.txt", "two\n")
    assert _say(repo, "/review my file.txt") == "ok"
    message = repo.harness.model.last.messages[-1]
    assert message.text.startswith("Review the changes")
    assert "+two" in (message.context or "")
    assert len(repo.harness.model.requests) == 1


def test_review_without_a_repository_says_so(chat):
    assert _say(chat, "/review").startswith("Git found no repository here")
    assert _say(chat, "/diff").startswith("Git found no repository here")


def test_diff_checkpoint_without_the_plugin_says_so(chat):
    assert "`hookline plugins enable checkpoints`" in _say(chat, "/diff checkpoint")
