"""@diff, @staged and @git:N on real repositories."""

from __future__ import annotations

import os
import subprocess

import pytest
from hookline_context_refs.patches import allowed_part
from hypothesis import given
from hypothesis import strategies as st

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=ENV, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder, message):
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)


@pytest.fixture
def repo(chat):
    git(chat.workspace, "init", "--quiet")
    return chat


def test_diff_and_staged_are_attached(repo):
    repo.put("a.txt", "one\n")
    repo.put("b.txt", "one\n")
    commit(repo.workspace, "first")
    repo.put("a.txt", "two\n")
    repo.put("b.txt", "staged\n")
    git(repo.workspace, "add", "b.txt")
    turn = repo("review @diff, and @staged! @diff")
    assert list(turn.items) == ["@diff", "@staged"]
    assert "-one\n+two" in turn.items["@diff"]
    assert "b.txt" not in turn.items["@diff"]
    assert "+staged" in turn.items["@staged"]
    assert "a.txt" not in turn.items["@staged"]
    assert turn.warnings == []


def test_diff_without_changes_says_so(repo):
    commit(repo.workspace, "first")
    turn = repo("@diff")
    assert turn.items == {"@diff": "(no changes)"}
    assert turn.warnings == []


def test_git_reference_attaches_the_last_commits(repo):
    for name in ("first", "second", "third"):
        repo.put(f"{name}.txt", name)
        commit(repo.workspace, f"add {name}\n\ncommit body of {name}\ndiff --git a/x b/x")
    text = repo("@git:2").items["@git:2"]
    assert text.index("add third") < text.index("+third") < text.index("add second")
    assert "Author: Ada" in text
    assert "    commit body of second" in text
    assert "first" not in text
    assert repo("@git:9").items["@git:9"].count("Author: ") == 3


def test_repository_without_commits_has_diff_and_staged(repo):
    repo.put("a.txt", "one\n")
    git(repo.workspace, "add", "a.txt")
    turn = repo("@staged @diff @git:1")
    assert "+one" in turn.items["@staged"]
    assert turn.items["@diff"] == "(no changes)"
    assert "no commits yet" in turn.warnings[0]


@pytest.mark.parametrize("reference", ["@diff", "@staged", "@git:1"])
def test_missing_repository_is_reported(chat, reference):
    turn = chat(reference)
    assert turn.items == {}
    assert "not a git repository" in turn.warnings[0]
    assert turn.notices


@pytest.mark.parametrize("broken", ["HEAD", "index", "config"])
def test_broken_repository_is_reported(repo, broken):
    repo.put("a.txt", "one\n")
    commit(repo.workspace, "first")
    (repo.workspace / ".git" / broken).write_bytes(b"[broken\0")
    turn = repo("@git:1 @staged")
    assert turn.warnings
    assert all("not attached" in warning for warning in turn.warnings)


def test_missing_git_is_reported(chat, monkeypatch):
    monkeypatch.setenv("PATH", str(chat.workspace))
    assert "git is not installed" in chat("@diff").warnings[0]


def test_slow_git_times_out(make_chat, tmp_path, monkeypatch):
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent))
    chat = make_chat(config={"git_seconds": 0.2})
    chat.put("a.txt", "A")
    turn = chat("@diff @file:a.txt")
    assert turn.items == {"@file:a.txt": "A"}
    assert "longer than 0.2 s" in turn.warnings[0]


def test_secret_files_are_left_out_of_patches(repo):
    (repo.workspace.parent / "outside").write_text("hunter1")
    for name in (".env", "certs/a.key", "a b/.npmrc", 'q"uote/.env', "gone/.env", "ok.txt"):
        repo.put(name, "hunter1\n")
    (repo.workspace / "link").symlink_to("ok.txt")
    commit(repo.workspace, "first")
    for name in (".env", "certs/a.key", "a b/.npmrc", 'q"uote/.env', "ok.txt"):
        repo.put(name, "hunter2\n")
    (repo.workspace / "gone/.env").unlink()
    (repo.workspace / "link").unlink()
    (repo.workspace / "link").symlink_to("../outside")
    turn = repo("@diff @git:1")
    for text in turn.items.values():
        assert [line for line in text.split("\n") if line.startswith("diff")] == [
            "diff --git a/ok.txt b/ok.txt"
        ]
    assert "+hunter2" in turn.items["@diff"]
    assert "-hunter1" in turn.items["@diff"]
    assert ".npmrc" in turn.warnings[0]
    assert "outside" not in turn.context


def test_secret_files_are_left_out_of_a_conflict(repo):
    repo.put(".env", "base\n")
    repo.put("ok.txt", "base\n")
    commit(repo.workspace, "base")
    git(repo.workspace, "checkout", "--quiet", "-b", "side")
    repo.put(".env", "hunter1\n")
    repo.put("ok.txt", "theirs\n")
    commit(repo.workspace, "side")
    git(repo.workspace, "checkout", "--quiet", "-")
    repo.put(".env", "hunter2\n")
    repo.put("ok.txt", "ours\n")
    commit(repo.workspace, "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo.workspace, "merge", "side")
    text = repo("@diff").items["@diff"]
    assert "diff --cc ok.txt" in text
    assert "++<<<<<<<" in text
    assert "hunter" not in text


def test_renamed_secret_file_is_not_shown(repo):
    repo.put(".env", "TOKEN=hunter2\n" * 20)
    commit(repo.workspace, "first")
    git(repo.workspace, "mv", ".env", ".env.local")
    turn = repo("@staged")
    assert "hunter2" not in turn.context


def test_diff_covers_only_a_workspace_within_its_repository(make_chat, tmp_path):
    top = tmp_path / "top"
    chat = make_chat(workspace=top / "work")
    git(top, "init", "--quiet")
    (top / "private.txt").write_text("one\n")
    chat.put("mine.txt", "one\n")
    commit(top, "first")
    (top / "private.txt").write_text("hunter2\n")
    chat.put("mine.txt", "two\n")
    turn = chat("@diff @git:1")
    assert "diff --git a/mine.txt b/mine.txt" in turn.items["@diff"]
    assert "mine.txt" in turn.items["@git:1"]
    assert "hunter2" not in turn.context
    assert "private.txt" not in turn.context


def test_work_tree_elsewhere_is_not_shown(repo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    repo.put("a.txt", "one\n")
    commit(repo.workspace, "first")
    (other / "a.txt").write_text("hunter2\n")
    git(repo.workspace, "config", "core.worktree", str(other))
    turn = repo("@diff")
    assert turn.items == {}
    assert "hunter2" not in turn.context


def test_linked_work_trees_and_shallow_clones_work(make_chat, tmp_path):
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet")
    for number in range(3):
        (origin / "a.txt").write_text(f"{number}\n")
        commit(origin, f"commit {number}")
    git(origin, "worktree", "add", "--quiet", "-b", "w", str(tmp_path / "linked"))
    git(tmp_path, "clone", "--quiet", "--depth=1", origin.as_uri(), "shallow")
    for name in ("linked", "shallow"):
        chat = make_chat(workspace=tmp_path / name)
        chat.put("a.txt", "changed\n")
        turn = chat("@diff @git:1")
        assert "+changed" in turn.items["@diff"]
        assert "commit 2" in turn.items["@git:1"]


def test_sha256_repository_works(chat):
    git(chat.workspace, "init", "--quiet", "--object-format=sha256")
    chat.put("a.txt", "one\n")
    commit(chat.workspace, "first")
    chat.put("a.txt", "two\n")
    assert "+two" in chat("@diff").items["@diff"]


def test_split_index_works(repo):
    repo.put("a.txt", "one\n")
    commit(repo.workspace, "first")
    git(repo.workspace, "update-index", "--split-index")
    repo.put("a.txt", "two\n")
    assert "+two" in repo("@diff").items["@diff"]


def test_diff_follows_the_line_ending_settings_of_the_repository(repo):
    git(repo.workspace, "config", "core.autocrlf", "true")
    repo.put("a.txt", "one\r\n")
    commit(repo.workspace, "first")
    os.utime(repo.workspace / "a.txt", (1, 1))
    assert repo("@diff").items == {"@diff": "(no changes)"}


def test_programs_named_by_a_repository_are_not_run(repo, tmp_path, monkeypatch):
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n')
    script.chmod(0o755)
    repo.put("a.txt", "one\n")
    repo.put("nested/b.txt", "one\n")
    nested = repo.workspace / "nested"
    git(nested, "init", "--quiet")
    commit(nested, "inner")
    commit(repo.workspace, "first")
    repo.put("nested/b.txt", "two\n")
    git(nested, "config", "core.fsmonitor", str(script))
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "pager.diff",
        "pager.log",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "credential.helper",
        "alias.diff",
        "remote.origin.uploadpack",
    ):
        git(repo.workspace, "config", key, str(script))
    for key, value in (
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("core.hooksPath", str(tmp_path)),
        ("remote.origin.url", f"ext::{script}"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):
        git(repo.workspace, "config", key, value)
    for hook in ("post-index-change", "pre-commit", "reference-transaction"):
        (tmp_path / hook).write_text(script.read_text())
        (tmp_path / hook).chmod(0o755)
    repo.put(".gitattributes", "* filter=evil diff=evil\n")
    repo.put("a.txt", "two\n")
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, str(script))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    before = (repo.workspace / ".git/index").read_bytes()
    turn = repo("@diff @staged @git:3")
    assert "+two" in turn.items["@diff"]
    assert "first" in turn.items["@git:3"]
    assert not mark.exists()
    assert (repo.workspace / ".git/index").read_bytes() == before


def test_first_32_kb_of_a_diff_are_shown(repo):
    repo.put("a.txt", "")
    commit(repo.workspace, "first")
    repo.put("a.txt", "ä" * 60_000 + "\n")
    text = repo("@diff").items["@diff"]
    shown, _, note = text.rpartition("\n")
    assert 32_700 < len(shown.encode()) <= 32_768
    assert "characters left out" in note


def test_endless_diff_is_bounded(repo):
    repo.put("a.txt", "")
    commit(repo.workspace, "first")
    repo.put("a.txt", ("x" * 99 + "\n") * 100_000)
    turn = repo("@diff")
    assert len(turn.items["@diff"]) < 33_000
    assert "left out" in turn.items["@diff"]
    assert turn.warnings == []


def test_binary_files_are_only_named(repo):
    repo.put("a.bin", b"\0\1")
    commit(repo.workspace, "first")
    repo.put("a.bin", b"\0\2")
    repo.put("latin.txt", "größe".encode("latin-1"))
    git(repo.workspace, "add", "--intent-to-add", "latin.txt")
    text = repo("@diff").items["@diff"]
    assert "Binary files" in text
    assert "gr\ufffd" in text


PART = st.text('ab /"\\\t\né.', min_size=1, max_size=8)


def _quoted(name):
    """A name as git writes it with core.quotePath=false."""
    if not any(char in name for char in '"\\\t\n'):
        return name
    table = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n"}
    return '"' + "".join(table.get(char, char) for char in name) + '"'


@given(st.lists(st.tuples(PART, st.booleans()), max_size=5, unique_by=lambda pair: pair[0]))
def test_parts_of_a_patch_are_filtered_by_file_name(files):
    patch = ""
    for number, (name, _) in enumerate(files):
        patch += f"diff --git {_quoted('a/' + name)} {_quoted('b/' + name)}\n"
        patch += f"--- \n+++ \n@@ -1 +1 @@\n-diff --git\n+body {number}\n"
    allowed = {name for name, keep in files if keep}
    text, left_out = allowed_part(patch, allowed.__contains__)
    assert left_out == [name for name, keep in files if not keep]
    for number, (_, keep) in enumerate(files):
        assert (f"+body {number}\n" in text + "\n") == keep
