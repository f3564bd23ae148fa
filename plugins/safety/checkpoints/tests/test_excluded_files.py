"""Files that a checkpoint does not hold are never changed by a rewind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import Tree, WorkspaceChat, tree_of, undo_of

DATA = yaml.safe_load(
    (Path(__file__).parents[1] / "src/hookline_checkpoints/excluded.yaml").read_text("utf-8")
)


def stored(chat: WorkspaceChat) -> bytes:
    """Every content in the store, one after the other."""
    git = ["git", f"--git-dir={chat.home}/checkpoints/store"]
    return subprocess.run(
        [*git, "cat-file", "--batch", "--batch-all-objects"], check=True, capture_output=True
    ).stdout


def commit(folder: Path) -> None:
    """Make ``folder`` a repository with a commit, and something staged and stashed."""
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b"]
    for command in (
        ["init", "-q"],
        ["add", "-A", "-f"],
        ["commit", "-qm", "first"],
        ["tag", "v1"],
        ["branch", "other"],
    ):
        subprocess.run([*git, *command], check=True)
    (folder / "stashed").write_text("stash me")
    subprocess.run([*git, "stash", "push", "-qu"], check=True)
    (folder / "staged").write_text("staged")
    subprocess.run([*git, "add", "staged"], check=True)


SECRETS = [
    ".env",
    ".env.production",
    "deep/er/.env.local",
    "id_rsa",
    "server.pem",
    "server.key",
    ".ssh/config",
    ".aws/credentials",
    ".npmrc",
    ".netrc",
    ".config/gcloud/x.json",
    ".cargo/credentials.toml",
    ".ENV",
    ".env\n",
    "backup/.env.bak",
]


@pytest.mark.slow
def test_secret_files_are_not_saved_changed_or_removed(chat: WorkspaceChat) -> None:
    for name in SECRETS:
        chat.put(name, f"SECRET-{name}")
    for name in (".env.example", "environment.py", "keys.txt"):
        chat.put(name, "open")

    def act() -> None:
        for name in (*SECRETS, ".env.new"):
            chat.put(name, "SECRET-changed")
        for name in (".env.example", "environment.py", "keys.txt"):
            chat.put(name, "changed")

    chat.turn("write secrets", act)
    chat.turn("again", lambda: chat.put("x", "y"))
    chat.rewind(chat.hashes()[-1])
    for name in (*SECRETS, ".env.new"):
        assert (chat.work / name).read_text() == "SECRET-changed"
    for name in (".env.example", "environment.py", "keys.txt"):
        assert (chat.work / name).read_text() == "open"
    assert b"SECRET" not in stored(chat)


@pytest.mark.slow
def test_link_to_a_secret_is_saved_as_a_link(chat: WorkspaceChat) -> None:
    chat.put(".env", "SECRET-1")
    (chat.work / "link").symlink_to(".env")
    chat.turn("cut", lambda: (chat.work / "link").unlink())
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "link").readlink() == Path(".env")
    assert b"SECRET" not in stored(chat)


def test_dependency_and_build_folders_are_left_alone(chat: WorkspaceChat) -> None:
    names = [name.replace("*", "some") for name in DATA["always"]]
    for name in names:
        chat.put(f"{name}/file", "1")
    chat.put("rust/Cargo.toml")
    chat.put("rust/target/debug", "1")
    chat.put("plain/target/notes.md", "mine")
    chat.put("my-env/pyvenv.cfg")
    chat.put("my-env/lib/x.py", "1")
    before = chat.tree

    def act() -> None:
        for name in names:
            chat.put(f"{name}/file", "2")
        chat.put("rust/target/debug", "2")
        chat.put("plain/target/notes.md", "changed")
        chat.put("my-env/lib/x.py", "2")
        chat.put("new/node_modules/x", "2")

    chat.turn("build", act)
    chat.turn("look")
    answer = chat.rewind(chat.hashes()[1])
    after = chat.tree
    changed = {os.fsdecode(path) for path in before if before[path] != after[path]}
    assert changed == {f"{name}/file" for name in names} | {"rust/target/debug", "my-env/lib/x.py"}
    assert (chat.work / "new/node_modules/x").read_text() == "2"
    assert "Left as it is (it holds files that are left alone): new/" in answer


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(DATA["beside"]))
def test_build_folder_is_left_alone_only_beside_its_project_file(
    chat: WorkspaceChat, folder: str
) -> None:
    mark = DATA["beside"][folder][0].replace("*", "some")
    chat.put(f"made/{mark}", "x")
    chat.put(f"made/{folder}/file", "1")
    chat.put(f"own/{folder}/file", "1")

    def act() -> None:
        chat.put(f"made/{folder}/file", "2")
        chat.put(f"own/{folder}/file", "2")
        (chat.work / "made" / mark).unlink()

    chat.turn("both", act)
    chat.turn("more", lambda: chat.put("x", "1"))
    chat.rewind(chat.hashes()[-1])
    assert (chat.work / f"made/{folder}/file").read_text() == "2"
    assert (chat.work / f"own/{folder}/file").read_text() == "1"


def test_excluded_names_can_be_configured(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"exclude": ["scratch*"], "keep": ["node_modules"]})
    for name in ("scratch-1/a", "node_modules/a"):
        chat.put(name, "1")

    def act() -> None:
        for name in ("scratch-1/a", "node_modules/a"):
            chat.put(name, "2")

    chat.turn("both", act)
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "scratch-1/a").read_text() == "2"
    assert (chat.work / "node_modules/a").read_text() == "1"


def test_ignored_files_are_left_alone(chat: WorkspaceChat) -> None:
    chat.put(".gitignore", "*.log\n/data/\n!keep.log\n")
    chat.put("sub/.gitignore", "*.tmp\n")
    for name in ("a.log", "data/db", "sub/x.tmp", "x.tmp", "keep.log", "sub/data/y"):
        chat.put(name, "1")

    def act() -> None:
        for name in ("a.log", "data/db", "sub/x.tmp", "x.tmp", "keep.log", "sub/data/y", "b.log"):
            chat.put(name, "2")

    chat.turn("write", act)
    chat.turn("again")
    chat.rewind(chat.hashes()[1])
    found = {os.fsdecode(path): content for path, (_, content) in chat.tree.items()}
    assert {name for name, content in found.items() if content == b"2"} == {
        *("a.log", "data/db", "sub/x.tmp", "b.log")
    }


def test_formerly_ignored_file_is_not_removed_as_new(chat: WorkspaceChat) -> None:
    chat.put(".gitignore", "local.db\nprivate/\n")
    chat.put("local.db", "precious")
    chat.put("private/notes", "precious")
    before = chat.tree
    chat.turn("clean up", lambda: (chat.work / ".gitignore").unlink())
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    assert "0 files removed" in answer


@pytest.mark.slow
def test_file_ignored_later_is_restored_and_the_rewind_undone(chat: WorkspaceChat) -> None:
    chat.put("notes/a", "old")
    chat.put("b", "old")
    before = chat.tree

    def act() -> None:
        chat.put(".gitignore", "notes/\nb\n")
        chat.put("notes/a", "new")
        chat.put("notes/fresh", "new and ignored")
        chat.put("b", "new")

    chat.turn("ignore", act)
    after = chat.tree
    answer = chat.rewind(chat.hashes()[0])
    left = {b"notes/fresh": after[b"notes/fresh"]}
    assert chat.tree == before | left
    chat.turn("in between", lambda: chat.put("c", "1"))
    (chat.work / "c").unlink()
    chat.rewind(undo_of(answer))
    assert chat.tree == after


@pytest.mark.slow
def test_changed_gitignore_is_read_again_for_each_checkpoint(chat: WorkspaceChat) -> None:
    chat.put("a/x.log", "1")
    chat.turn("one", lambda: chat.put("a/x.log", "2"))
    chat.put(".gitignore", "*.log\n")
    chat.turn("two", lambda: chat.put("a/x.log", "3"))
    (chat.work / ".gitignore").unlink()
    chat.turn("three", lambda: chat.put("a/x.log", "4"))
    newest, middle, oldest = chat.hashes()
    chat.rewind(f"{middle} all")
    assert (chat.work / "a/x.log").read_text() == "4"
    chat.rewind(newest)
    assert (chat.work / "a/x.log").read_text() == "3"
    chat.rewind(f"{oldest} all")
    assert (chat.work / "a/x.log").read_text() == "1"


def test_large_files_are_left_alone_even_if_changed(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat(config={"max_file_mb": 0.001})
    chat.put("shrinks", b"x" * 2000)
    chat.put("grows", b"x" * 10)
    chat.put("large", b"x" * 2000)
    chat.put("edge", b"x" * 1000)

    def act() -> None:
        chat.put("shrinks", b"y")
        chat.put("grows", b"y" * 2000)
        chat.put("large", b"y" * 3000)
        chat.put("edge", b"y" * 1000)

    chat.turn("sizes", act)
    answer = chat.rewind(chat.hashes()[0])
    assert (chat.work / "shrinks").read_bytes() == b"y"
    assert (chat.work / "grows").read_bytes() == b"y" * 2000
    assert (chat.work / "large").read_bytes() == b"y" * 3000
    assert (chat.work / "edge").read_bytes() == b"x" * 1000
    assert "Left as it is (it is too large to be saved): grows" in answer


def test_pipes_and_sockets_are_left_alone(chat: WorkspaceChat) -> None:
    os.mkfifo(chat.work / "pipe")
    chat.put("a", "1")
    chat.turn("pipe", lambda: chat.put("a", "2"))
    chat.rewind(chat.hashes()[0])
    assert (chat.work / "pipe").is_fifo()
    assert (chat.work / "a").read_text() == "1"


@pytest.mark.slow
def test_folder_with_too_many_files_is_not_saved_and_one_warning_is_shown(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat(config={"max_files": 5})
    for number in range(6):
        chat.put(f"{number}")
    outcome = chat.turn("one", lambda: chat.put("x"))
    assert chat.warnings(outcome) == [
        f"No checkpoint of {chat.work}: it holds more than 5 files. It is not tried again for a "
        "day; changes until then cannot be rewound."
    ]
    assert outcome.tool_calls[0].ok
    assert chat.warnings(chat.turn("two")) == []
    assert "no checkpoint" in chat.rewind()
    # Nor is anybody told in another session, or after a restart; but with other limits it is tried.
    again = make_chat(config={"max_files": 5})
    assert chat.warnings(again.turn("three")) == []
    roomy = make_chat(config={"max_files": 50})
    roomy.turn("four", lambda: chat.put("y"))
    assert len(roomy.hashes()) == 1


def test_excluded_files_do_not_count_towards_the_limit(
    make_chat: Callable[..., WorkspaceChat],
) -> None:
    chat = make_chat(config={"max_files": 5})
    for number in range(50):
        chat.put(f"node_modules/{number}")
    chat.put("a", "1")
    assert chat.warnings(chat.turn("one", lambda: chat.put("a", "2"))) == []
    assert len(chat.hashes()) == 1


def test_folder_with_too_many_bytes_is_not_saved(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(config={"max_store_mb": 1})
    for number in range(3):
        chat.put(f"{number}", os.urandom(400_000))
    assert "more than 1 MB" in chat.warnings(chat.turn("one"))[0]


# Repositories of the person's


@pytest.mark.slow
def test_repository_of_the_person_is_not_touched(chat: WorkspaceChat) -> None:
    chat.put("a.txt", "committed\n")
    chat.put("b.txt", "committed\n")
    commit(chat.work)
    chat.put("b.txt", "dirty\n")
    chat.put("untracked", "u")
    git_before = tree_of(chat.work / ".git")
    marks = _marks(chat.work / ".git")
    before = chat.tree

    def act() -> None:
        chat.put("a.txt", "agent\n")
        chat.put("new.txt", "agent\n")
        (chat.work / "untracked").unlink()

    chat.turn("edit", act)
    chat.rewind(f"diff {chat.hashes()[0]}")
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    chat.rewind(undo_of(answer))
    assert tree_of(chat.work / ".git") == git_before
    assert _marks(chat.work / ".git") == marks


def _marks(folder: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.slow
def test_nested_repositories_are_saved_as_files_and_keep_their_git_folder(
    chat: WorkspaceChat,
) -> None:
    chat.put("top.txt", "1")
    for name in ("lib/one", "lib/one/deeper", "two"):
        chat.put(f"{name}/code.py", "1")
        chat.put(f"{name}/.gitignore", "*.o\n")
        chat.put(f"{name}/x.o", "1")
        commit(chat.work / name)
    chat.put("worktree/.git", "gitdir: ../two/.git/worktrees/x\n")
    chat.put("worktree/code.py", "1")
    gits = {name: tree_of(chat.work / name / ".git") for name in ("lib/one", "two")}
    before = chat.tree

    def act() -> None:
        for name in ("lib/one", "lib/one/deeper", "two", "worktree"):
            chat.put(f"{name}/code.py", "2")
            chat.put(f"{name}/new.py", "2")
        chat.put("two/x.o", "2")

    chat.turn("edit", act)
    changed = chat.tree
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == {**before, b"two/x.o": changed[b"two/x.o"]}
    chat.rewind(undo_of(answer))
    assert chat.tree == changed
    assert {name: tree_of(chat.work / name / ".git") for name in gits} == gits


def test_repository_cloned_since_keeps_its_git_folder(chat: WorkspaceChat) -> None:
    def act() -> None:
        chat.put("clone/code.py", "2")
        commit(chat.work / "clone")

    chat.turn("clone", act)
    git: Tree = tree_of(chat.work / "clone/.git")
    answer = chat.rewind(chat.hashes()[0])
    assert not (chat.work / "clone/code.py").exists()
    assert tree_of(chat.work / "clone/.git") == git
    assert "left alone): clone/" in answer


# Settings of the person's and of the folder's


def test_git_ignores_all_foreign_settings(
    chat: WorkspaceChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting that could run a program or change the snapshot would leave a trace."""
    trace = tmp_path / "trace"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\nexit 1\n')
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "pre-commit", "post-commit", "pre-auto-gc", "fsmonitor"):
        shutil.copy(program, hooks / name)
    settings = f"""
[core]
    hooksPath = {hooks}
    fsmonitor = {program}
    autocrlf = true
    eol = crlf
    editor = {program}
    pager = {program}
    sshCommand = {program}
    excludesFile = {tmp_path}/ignore-all
    attributesFile = {tmp_path}/attributes
[commit]
    gpgSign = true
[gpg]
    program = {program}
[credential]
    helper = {program}
[filter "lfs"]
    clean = {program}
    smudge = {program}
    process = {program}
    required = true
[diff]
    external = {program}
[diff "x"]
    textconv = {program}
[extensions]
    objectFormat = sha512
[include]
    path = {tmp_path}/missing
"""
    person = tmp_path / "person"
    person.mkdir()
    (person / ".gitconfig").write_text(settings)
    (tmp_path / "ignore-all").write_text("*\n")
    (tmp_path / "attributes").write_text("* filter=lfs diff=x text\n")
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person))
    for name, value in {
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_CONFIG_GLOBAL": str(person / ".gitconfig"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(hooks),
        "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='true'",
        "GIT_EXTERNAL_DIFF": str(program),
        "GIT_PAGER": str(program),
        "GIT_ASKPASS": str(program),
        "GIT_TRACE": str(trace),
        "GIT_NAMESPACE": "other",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_TEMPLATE_DIR": str(tmp_path / "hooks"),
    }.items():
        monkeypatch.setenv(name, value)
    chat.put(".gitattributes", "* filter=lfs diff=x ident eol=crlf\n")
    chat.put("a.txt", b"one\ntwo\r\n")
    chat.put(".git/config", settings)
    chat.put(".git/info/exclude", "*\n")
    chat.put(".git/hooks/reference-transaction", program.read_text(), 0o755)
    before = chat.tree
    assert chat.warnings(chat.turn("edit", lambda: chat.put("a.txt", "changed"))) == []
    hash_ = chat.hashes()[0]
    assert "-one" in chat.rewind(f"diff {hash_}")
    chat.rewind(hash_)
    assert chat.tree == before
    assert not trace.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "index").exists()


def test_store_is_readable_by_its_owner_only(chat: WorkspaceChat) -> None:
    chat.put("a", "1")
    chat.turn("one", lambda: chat.put("a", "2"))
    chat.rewind(chat.hashes()[0])
    folder = chat.home / "checkpoints"
    open_to_others = [path for path in folder.rglob("*") if path.lstat().st_mode & 0o077]
    assert open_to_others == []
    assert folder.stat().st_mode & 0o077 == 0


def test_hooklines_own_folder_is_left_alone(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    work = tmp_path / "all"
    chat = make_chat(work=work, home=work / ".home")
    chat.put("a", "1")
    chat.put(".home/own.txt", "1")

    def act() -> None:
        chat.put("a", "2")
        chat.put(".home/own.txt", "2")

    chat.turn("one", act)
    chat.rewind(chat.hashes()[0])
    assert (work / "a").read_text() == "1"
    assert (work / ".home/own.txt").read_text() == "2"


def test_workspace_equal_to_the_home_is_not_saved(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    chat = make_chat(work=tmp_path / "home")
    assert "Hookline's own folder" in chat.warnings(chat.turn("one"))[0]
