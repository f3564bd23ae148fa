"""What a checkpoint does not hold is never changed by a rewind, whatever became of it meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import Desk, Tree, tree_of, undo_of

DATA = yaml.safe_load(
    (Path(__file__).parents[1] / "src/hookline_checkpoints/excluded.yaml").read_text("utf-8")
)


def stored(desk: Desk) -> bytes:
    """Every content in the store, one after the other."""
    git = ["git", f"--git-dir={desk.home}/checkpoints/store"]
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


def test_secret_files_are_not_saved_changed_or_removed(desk: Desk) -> None:
    for name in SECRETS:
        desk.put(name, f"SECRET-{name}")
    for name in (".env.example", "environment.py", "keys.txt"):
        desk.put(name, "open")

    def act() -> None:
        for name in (*SECRETS, ".env.new"):
            desk.put(name, "SECRET-changed")
        for name in (".env.example", "environment.py", "keys.txt"):
            desk.put(name, "changed")

    desk.turn("write secrets", act)
    desk.turn("again", lambda: desk.put("x", "y"))
    desk.rewind(desk.hashes()[-1])
    for name in (*SECRETS, ".env.new"):
        assert (desk.work / name).read_text() == "SECRET-changed"
    for name in (".env.example", "environment.py", "keys.txt"):
        assert (desk.work / name).read_text() == "open"
    assert b"SECRET" not in stored(desk)


def test_link_to_a_secret_is_saved_as_a_link(desk: Desk) -> None:
    desk.put(".env", "SECRET-1")
    (desk.work / "link").symlink_to(".env")
    desk.turn("cut", lambda: (desk.work / "link").unlink())
    desk.rewind(desk.hashes()[0])
    assert (desk.work / "link").readlink() == Path(".env")
    assert b"SECRET" not in stored(desk)


def test_dependency_and_build_folders_are_left_alone(desk: Desk) -> None:
    names = [name.replace("*", "some") for name in DATA["always"]]
    for name in names:
        desk.put(f"{name}/file", "1")
    desk.put("rust/Cargo.toml")
    desk.put("rust/target/debug", "1")
    desk.put("plain/target/notes.md", "mine")
    desk.put("my-env/pyvenv.cfg")
    desk.put("my-env/lib/x.py", "1")
    before = desk.tree

    def act() -> None:
        for name in names:
            desk.put(f"{name}/file", "2")
        desk.put("rust/target/debug", "2")
        desk.put("plain/target/notes.md", "changed")
        desk.put("my-env/lib/x.py", "2")
        desk.put("new/node_modules/x", "2")

    desk.turn("build", act)
    desk.turn("look")
    answer = desk.rewind(desk.hashes()[1])
    after = desk.tree
    changed = {os.fsdecode(path) for path in before if before[path] != after[path]}
    assert changed == {f"{name}/file" for name in names} | {"rust/target/debug", "my-env/lib/x.py"}
    assert (desk.work / "new/node_modules/x").read_text() == "2"
    assert "Left as it is (it holds files that are left alone): new/" in answer


@pytest.mark.parametrize("folder", sorted(DATA["beside"]))
def test_build_folder_is_left_alone_only_beside_its_project_file(desk: Desk, folder: str) -> None:
    mark = DATA["beside"][folder][0].replace("*", "some")
    desk.put(f"made/{mark}", "x")
    desk.put(f"made/{folder}/file", "1")
    desk.put(f"own/{folder}/file", "1")

    def act() -> None:
        desk.put(f"made/{folder}/file", "2")
        desk.put(f"own/{folder}/file", "2")
        (desk.work / "made" / mark).unlink()

    desk.turn("both", act)
    desk.turn("more", lambda: desk.put("x", "1"))
    desk.rewind(desk.hashes()[-1])
    assert (desk.work / f"made/{folder}/file").read_text() == "2"
    assert (desk.work / f"own/{folder}/file").read_text() == "1"


def test_excluded_names_can_be_configured(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(config={"exclude": ["scratch*"], "keep": ["node_modules"]})
    for name in ("scratch-1/a", "node_modules/a"):
        desk.put(name, "1")

    def act() -> None:
        for name in ("scratch-1/a", "node_modules/a"):
            desk.put(name, "2")

    desk.turn("both", act)
    desk.rewind(desk.hashes()[0])
    assert (desk.work / "scratch-1/a").read_text() == "2"
    assert (desk.work / "node_modules/a").read_text() == "1"


def test_ignored_files_are_left_alone(desk: Desk) -> None:
    desk.put(".gitignore", "*.log\n/data/\n!keep.log\n")
    desk.put("sub/.gitignore", "*.tmp\n")
    for name in ("a.log", "data/db", "sub/x.tmp", "x.tmp", "keep.log", "sub/data/y"):
        desk.put(name, "1")

    def act() -> None:
        for name in ("a.log", "data/db", "sub/x.tmp", "x.tmp", "keep.log", "sub/data/y", "b.log"):
            desk.put(name, "2")

    desk.turn("write", act)
    desk.turn("again")
    desk.rewind(desk.hashes()[1])
    found = {os.fsdecode(path): content for path, (_, content) in desk.tree.items()}
    assert {name for name, content in found.items() if content == b"2"} == {
        *("a.log", "data/db", "sub/x.tmp", "b.log")
    }


def test_formerly_ignored_file_is_not_removed_as_new(desk: Desk) -> None:
    desk.put(".gitignore", "local.db\nprivate/\n")
    desk.put("local.db", "precious")
    desk.put("private/notes", "precious")
    before = desk.tree
    desk.turn("clean up", lambda: (desk.work / ".gitignore").unlink())
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    assert "0 files removed" in answer


def test_file_ignored_later_is_restored_and_the_rewind_undone(desk: Desk) -> None:
    desk.put("notes/a", "old")
    desk.put("b", "old")
    before = desk.tree

    def act() -> None:
        desk.put(".gitignore", "notes/\nb\n")
        desk.put("notes/a", "new")
        desk.put("notes/fresh", "new and ignored")
        desk.put("b", "new")

    desk.turn("ignore", act)
    after = desk.tree
    answer = desk.rewind(desk.hashes()[0])
    left = {b"notes/fresh": after[b"notes/fresh"]}
    assert desk.tree == before | left
    desk.turn("in between", lambda: desk.put("c", "1"))
    (desk.work / "c").unlink()
    desk.rewind(undo_of(answer))
    assert desk.tree == after


def test_changed_gitignore_is_read_again_for_each_checkpoint(desk: Desk) -> None:
    desk.put("a/x.log", "1")
    desk.turn("one", lambda: desk.put("a/x.log", "2"))
    desk.put(".gitignore", "*.log\n")
    desk.turn("two", lambda: desk.put("a/x.log", "3"))
    (desk.work / ".gitignore").unlink()
    desk.turn("three", lambda: desk.put("a/x.log", "4"))
    newest, middle, oldest = desk.hashes()
    desk.rewind(middle)
    assert (desk.work / "a/x.log").read_text() == "4"
    desk.rewind(newest)
    assert (desk.work / "a/x.log").read_text() == "3"
    desk.rewind(oldest)
    assert (desk.work / "a/x.log").read_text() == "1"


def test_large_files_are_left_alone_even_if_changed(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(config={"max_file_mb": 0.001})
    desk.put("shrinks", b"x" * 2000)
    desk.put("grows", b"x" * 10)
    desk.put("large", b"x" * 2000)
    desk.put("edge", b"x" * 1000)

    def act() -> None:
        desk.put("shrinks", b"y")
        desk.put("grows", b"y" * 2000)
        desk.put("large", b"y" * 3000)
        desk.put("edge", b"y" * 1000)

    desk.turn("sizes", act)
    answer = desk.rewind(desk.hashes()[0])
    assert (desk.work / "shrinks").read_bytes() == b"y"
    assert (desk.work / "grows").read_bytes() == b"y" * 2000
    assert (desk.work / "large").read_bytes() == b"y" * 3000
    assert (desk.work / "edge").read_bytes() == b"x" * 1000
    assert "Left as it is (it is too large to be saved): grows" in answer


def test_pipes_and_sockets_are_left_alone(desk: Desk) -> None:
    os.mkfifo(desk.work / "pipe")
    desk.put("a", "1")
    desk.turn("pipe", lambda: desk.put("a", "2"))
    desk.rewind(desk.hashes()[0])
    assert (desk.work / "pipe").is_fifo()
    assert (desk.work / "a").read_text() == "1"


def test_folder_with_too_many_files_is_not_saved_and_one_warning_is_shown(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(config={"max_files": 5})
    for number in range(6):
        desk.put(f"{number}")
    outcome = desk.turn("one", lambda: desk.put("x"))
    assert desk.warnings(outcome) == [
        f"No checkpoint of {desk.work}: it holds more than 5 files. It is not tried again for a "
        "day; changes until then cannot be rewound."
    ]
    assert outcome.tool_calls[0].ok
    assert desk.warnings(desk.turn("two")) == []
    assert "no checkpoint" in desk.rewind()
    # Nor is anybody told in another session, or after a restart; but with other limits it is tried.
    again = make_desk(config={"max_files": 5})
    assert desk.warnings(again.turn("three")) == []
    roomy = make_desk(config={"max_files": 50})
    roomy.turn("four", lambda: desk.put("y"))
    assert len(roomy.hashes()) == 1


def test_excluded_files_do_not_count_towards_the_limit(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(config={"max_files": 5})
    for number in range(50):
        desk.put(f"node_modules/{number}")
    desk.put("a", "1")
    assert desk.warnings(desk.turn("one", lambda: desk.put("a", "2"))) == []
    assert len(desk.hashes()) == 1


def test_folder_with_too_many_bytes_is_not_saved(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(config={"max_store_mb": 1})
    for number in range(3):
        desk.put(f"{number}", os.urandom(400_000))
    assert "more than 1 MB" in desk.warnings(desk.turn("one"))[0]


# Repositories of the person's


def test_repository_of_the_person_is_not_touched(desk: Desk) -> None:
    desk.put("a.txt", "committed\n")
    desk.put("b.txt", "committed\n")
    commit(desk.work)
    desk.put("b.txt", "dirty\n")
    desk.put("untracked", "u")
    git_before = tree_of(desk.work / ".git")
    marks = _marks(desk.work / ".git")
    before = desk.tree

    def act() -> None:
        desk.put("a.txt", "agent\n")
        desk.put("new.txt", "agent\n")
        (desk.work / "untracked").unlink()

    desk.turn("edit", act)
    desk.rewind(f"diff {desk.hashes()[0]}")
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    desk.rewind(undo_of(answer))
    assert tree_of(desk.work / ".git") == git_before
    assert _marks(desk.work / ".git") == marks


def _marks(folder: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def test_nested_repositories_are_saved_as_files_and_keep_their_git_folder(desk: Desk) -> None:
    desk.put("top.txt", "1")
    for name in ("lib/one", "lib/one/deeper", "two"):
        desk.put(f"{name}/code.py", "1")
        desk.put(f"{name}/.gitignore", "*.o\n")
        desk.put(f"{name}/x.o", "1")
        commit(desk.work / name)
    desk.put("worktree/.git", "gitdir: ../two/.git/worktrees/x\n")
    desk.put("worktree/code.py", "1")
    gits = {name: tree_of(desk.work / name / ".git") for name in ("lib/one", "two")}
    before = desk.tree

    def act() -> None:
        for name in ("lib/one", "lib/one/deeper", "two", "worktree"):
            desk.put(f"{name}/code.py", "2")
            desk.put(f"{name}/new.py", "2")
        desk.put("two/x.o", "2")

    desk.turn("edit", act)
    changed = desk.tree
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == {**before, b"two/x.o": changed[b"two/x.o"]}
    desk.rewind(undo_of(answer))
    assert desk.tree == changed
    assert {name: tree_of(desk.work / name / ".git") for name in gits} == gits


def test_repository_cloned_since_keeps_its_git_folder(desk: Desk) -> None:
    def act() -> None:
        desk.put("clone/code.py", "2")
        commit(desk.work / "clone")

    desk.turn("clone", act)
    git: Tree = tree_of(desk.work / "clone/.git")
    answer = desk.rewind(desk.hashes()[0])
    assert not (desk.work / "clone/code.py").exists()
    assert tree_of(desk.work / "clone/.git") == git
    assert "left alone): clone/" in answer


# Settings of the person's and of the folder's


def test_git_ignores_all_foreign_settings(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every setting that could run a program or change what is saved is set to leave a trace."""
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
    desk.put(".gitattributes", "* filter=lfs diff=x ident eol=crlf\n")
    desk.put("a.txt", b"one\ntwo\r\n")
    desk.put(".git/config", settings)
    desk.put(".git/info/exclude", "*\n")
    desk.put(".git/hooks/reference-transaction", program.read_text(), 0o755)
    before = desk.tree
    assert desk.warnings(desk.turn("edit", lambda: desk.put("a.txt", "changed"))) == []
    hash_ = desk.hashes()[0]
    assert "-one" in desk.rewind(f"diff {hash_}")
    desk.rewind(hash_)
    assert desk.tree == before
    assert not trace.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "index").exists()


def test_store_is_readable_by_its_owner_only(desk: Desk) -> None:
    desk.put("a", "1")
    desk.turn("one", lambda: desk.put("a", "2"))
    desk.rewind(desk.hashes()[0])
    folder = desk.home / "checkpoints"
    open_to_others = [path for path in folder.rglob("*") if path.lstat().st_mode & 0o077]
    assert open_to_others == []
    assert folder.stat().st_mode & 0o077 == 0


def test_hooklines_own_folder_is_left_alone(make_desk: Callable[..., Desk], tmp_path: Path) -> None:
    work = tmp_path / "all"
    desk = make_desk(work=work, home=work / ".home")
    desk.put("a", "1")
    desk.put(".home/own.txt", "1")

    def act() -> None:
        desk.put("a", "2")
        desk.put(".home/own.txt", "2")

    desk.turn("one", act)
    desk.rewind(desk.hashes()[0])
    assert (work / "a").read_text() == "1"
    assert (work / ".home/own.txt").read_text() == "2"


def test_workspace_equal_to_the_home_is_not_saved(
    make_desk: Callable[..., Desk], tmp_path: Path
) -> None:
    desk = make_desk(work=tmp_path / "home")
    assert "Hookline's own folder" in desk.warnings(desk.turn("one"))[0]
