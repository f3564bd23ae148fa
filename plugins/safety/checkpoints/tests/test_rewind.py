"""A rewind restores the files exactly, and can be undone."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import calls

from .conftest import Hands, WorkspaceChat, undo_of


@pytest.mark.slow
def test_turn_can_be_rewound_and_the_rewind_undone(chat: WorkspaceChat) -> None:
    chat.put("keep.txt", "same\n")
    chat.put("edit.txt", "before\n")
    chat.put("gone/deep.txt", "deleted\n")
    before = chat.tree

    def act() -> None:
        chat.put("edit.txt", "after\n")
        chat.put("new/made.txt", "created\n")
        shutil.rmtree(chat.work / "gone")

    assert chat.warnings(chat.turn("Improve everything", act)) == []
    after = chat.tree
    assert after != before
    (hash_,) = chat.hashes()
    answer = chat.rewind(hash_)
    assert chat.tree == before
    assert "2 files restored, 1 file removed" in answer
    assert "Removed, because they were created since: new/made.txt" in answer
    assert "before “Improve everything”" in answer
    chat.rewind(undo_of(answer))
    assert chat.tree == after


def test_checkpoints_are_listed_per_turn_newest_first(chat: WorkspaceChat) -> None:
    for number in range(3):
        chat.turn(f"Step {number}", lambda number=number: chat.put("n.txt", str(number)))
    listed = chat.rewind().splitlines()[1:]
    assert [line.rsplit("  ", 1)[1] for line in listed] == ["Step 2", "Step 1", "Step 0"]
    assert [line.split("  ")[2] for line in listed] == ["+0 ~1 -0", "+0 ~1 -0", "+1 ~0 -0"]
    chat.rewind(chat.hashes()[1])
    assert (chat.work / "n.txt").read_text() == "0"


def test_turn_has_one_checkpoint_from_before_its_first_write(chat: WorkspaceChat) -> None:
    chat.put("a.txt", "0")
    chat.harness.model.steps += [calls("act"), calls("act"), "done"]
    numbers = iter("12")
    Hands.todo = staticmethod(lambda: chat.put("a.txt", next(numbers)))
    chat.say("twice")
    (hash_,) = chat.hashes()
    chat.rewind(hash_)
    assert (chat.work / "a.txt").read_text() == "0"


def test_reading_takes_no_checkpoint(chat: WorkspaceChat) -> None:
    chat.harness.model.steps += [calls("look"), "done"]
    chat.say("look")
    assert "There is no checkpoint in this chat yet" in chat.rewind()
    assert not (chat.home / "checkpoints" / "store").exists()


def test_turns_without_a_change_share_one_line_with_the_newest_title(chat: WorkspaceChat) -> None:
    chat.put("a.txt", "0")
    chat.turn("looked around")
    (first,) = chat.hashes()
    chat.turn("broke it", lambda: chat.put("a.txt", "1"))
    lines = chat.rewind().splitlines()[1:]
    assert len(lines) == 1
    assert lines[0].endswith("broke it")
    chat.rewind(first)
    assert (chat.work / "a.txt").read_text() == "0"


def test_rollback_is_an_alias(chat: WorkspaceChat) -> None:
    chat.turn("one", lambda: chat.put("a.txt"))
    assert chat.say("/ROLLBACK").text == chat.say("/rewind").text


@pytest.mark.slow
def test_modes_and_links_are_restored(chat: WorkspaceChat) -> None:
    chat.put("run.sh", "#!/bin/sh\n", 0o755)
    chat.put("plain", "x", 0o644)
    chat.put("private", "x", 0o600)
    chat.put("readonly", "x", 0o444)
    chat.put("folder/inner", "x")
    (chat.work / "folder").chmod(0o750)
    (chat.work / "link").symlink_to("plain")
    (chat.work / "dangling").symlink_to("/nowhere/at/all")
    (chat.work / "to-folder").symlink_to("folder")
    before = chat.tree

    def act() -> None:
        for name, mode in (("run.sh", 0o644), ("plain", 0o755), ("private", 0o644)):
            (chat.work / name).chmod(mode)
        (chat.work / "folder").chmod(0o700)
        (chat.work / "readonly").unlink()
        for name in ("link", "dangling", "to-folder"):
            (chat.work / name).unlink()
        (chat.work / "link").symlink_to("other")
        chat.put("to-folder/inner", "now a folder")

    chat.turn("modes", act)
    after = chat.tree
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    chat.rewind(undo_of(answer))
    assert chat.tree == after


@pytest.mark.slow
def test_rewind_turns_files_into_folders_and_back(chat: WorkspaceChat) -> None:
    chat.put("a", "a file")
    chat.put("b/c/d", "deep")
    chat.put("e", "file")
    before = chat.tree

    def act() -> None:
        (chat.work / "a").unlink()
        chat.put("a/inner/most", "now a folder")
        shutil.rmtree(chat.work / "b")
        chat.put("b", "now a file")
        (chat.work / "e").unlink()
        (chat.work / "e").symlink_to("a")

    chat.turn("turn around", act)
    after = chat.tree
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    chat.rewind(undo_of(answer))
    assert chat.tree == after


def test_empty_folders_are_restored_and_removed(chat: WorkspaceChat) -> None:
    (chat.work / "empty/inside").mkdir(parents=True)
    before = chat.tree

    def act() -> None:
        shutil.rmtree(chat.work / "empty")
        (chat.work / "other/new").mkdir(parents=True)

    chat.turn("folders", act)
    chat.rewind(chat.hashes()[0])
    assert chat.tree == before


def test_bytes_are_restored_exactly(chat: WorkspaceChat) -> None:
    """Filters, line endings, keywords and encodings of the folder's attributes do not apply."""
    chat.put(
        ".gitattributes",
        "* text=auto eol=lf ident filter=lfs working-tree-encoding=UTF-16 diff=x merge=y\n"
        "[attr]binary2 -text\n*.crlf eol=crlf\n",
    )
    contents = {
        "unix.crlf": b"one\ntwo\n",
        "windows.txt": b"one\r\ntwo\r\n",
        "mixed.txt": b"a\r\nb\nc\r",
        "ident.txt": b"$Id$ $Id: 1234 $\n",
        "utf16.txt": "größe\n".encode("utf-16"),
        "binary.bin": bytes(range(256)) * 100,
        "empty": b"",
        "no-newline": b"x",
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    }
    for name, content in contents.items():
        chat.put(name, content)
    before = chat.tree

    def act() -> None:
        for name in contents:
            chat.put(name, "changed")

    chat.turn("rewrite", act)
    chat.rewind(chat.hashes()[0])
    assert chat.tree == before


NAMES = [
    b"with space",
    b" leading and trailing ",
    b"new\nline",
    b"tab\tand\rreturn",
    b'double"quote',
    b"single'quote",
    b"back\\slash",
    b"-dash",
    b"--",
    b":(top)magic",
    b":!not",
    b"*star?[x]",
    b"#hash",
    b"!bang",
    b"~tilde",
    b"$(echo)`x`",
    b"..dots",
    b"...",
    b"bell\x07\x1b[31m",
    "größe".encode(),
    "gro\u0308ße".encode(),
    "漢字 😀".encode(),
    b"latin-\xe9\xff",
    b"x" * 255,
    b"\x7f",
    b"GIT~1",
    b".gitmodules",
    b"tree",
    b"meta",
    b"HEAD",
]


@pytest.mark.slow
def test_any_name_can_be_saved(chat: WorkspaceChat) -> None:
    for name in NAMES:
        chat.put(name, name)
        chat.put(b"in " + name[:200] + b"/" + name, name)
    before = chat.tree
    assert len(before) == 3 * len(NAMES)

    def act() -> None:
        for path in chat.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in NAMES:
            chat.put(b"new " + name[:200], b"other")

    assert chat.warnings(chat.turn("names", act)) == []
    after = chat.tree
    answer = chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    assert answer.isprintable() or all(line.isprintable() for line in answer.split("\n"))
    chat.rewind(undo_of(answer))
    assert chat.tree == after


@pytest.mark.slow
def test_deep_paths_are_saved(chat: WorkspaceChat) -> None:
    deep = "/".join(["folder-of-thirty-characters-ok"] * 90)
    chat.put(f"{deep}/file", "deep")
    before = chat.tree
    chat.turn("cut", lambda: shutil.rmtree(chat.work / deep.split("/")[0]))
    assert chat.tree == {}
    chat.rewind(chat.hashes()[0])
    assert chat.tree == before


def test_rewind_of_one_file_leaves_the_rest(chat: WorkspaceChat) -> None:
    chat.put("a b.txt", "1")
    chat.put("c.txt", "1")

    def act() -> None:
        chat.put("a b.txt", "2")
        chat.put("c.txt", "2")
        chat.put("new.txt", "2")

    chat.turn("two", act)
    hash_ = chat.hashes()[0]
    answer = chat.rewind(f"{hash_} -- a b.txt")
    assert answer.startswith("a b.txt is back")
    assert {p.name: p.read_text() for p in chat.work.iterdir()} == {
        "a b.txt": "1",
        "c.txt": "2",
        "new.txt": "2",
    }
    assert "new.txt" in chat.rewind(f"{hash_} -- {chat.work}/new.txt")
    assert not (chat.work / "new.txt").exists()
    assert (chat.work / "c.txt").read_text() == "2"


def test_rewind_of_one_folder_leaves_the_rest(chat: WorkspaceChat) -> None:
    chat.put("src/a", "1")
    chat.put("b", "1")

    def act() -> None:
        shutil.rmtree(chat.work / "src")
        chat.put("b", "2")

    chat.turn("two", act)
    chat.rewind(f"{chat.hashes()[0]} -- src/")
    assert (chat.work / "src/a").read_text() == "1"
    assert (chat.work / "b").read_text() == "2"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../x", "."])
def test_path_outside_the_workspace_is_refused(chat: WorkspaceChat, path: str) -> None:
    chat.turn("one", lambda: chat.put("a", "1"))
    before = chat.tree
    assert "is not below" in chat.rewind(f"{chat.hashes()[0]} -- {path}")
    assert chat.tree == before


def test_unknown_path_is_an_error(chat: WorkspaceChat) -> None:
    chat.put(".env", "SECRET=1")
    chat.turn("one", lambda: chat.put("a", "1"))
    hash_ = chat.hashes()[0]
    assert chat.rewind(f"{hash_} -- nothing") == "The checkpoint does not hold nothing."
    assert "its name is that of a secret" in chat.rewind(f"{hash_} -- .env")


@pytest.mark.parametrize(
    "args", ["abc", "xyz1", "12345678g", "a" * 65, "-- a", "diff", "diff  ", "abcd extra", "--help"]
)
def test_wrong_arguments_show_the_usage(chat: WorkspaceChat, args: str) -> None:
    assert "4 to 64 hexadecimal digits" in chat.rewind(args)


def test_unknown_hash_is_an_error(chat: WorkspaceChat) -> None:
    chat.turn("one", lambda: chat.put("a", "1"))
    for unknown in ("ffffffff", "f" * 64):
        assert f"There is no checkpoint {unknown}" in chat.rewind(unknown)


def test_hash_may_be_shortened_and_in_any_case(chat: WorkspaceChat) -> None:
    chat.put("a", "0")
    chat.turn("one", lambda: chat.put("a", "1"))
    hash_ = chat.hashes()[0]
    chat.rewind(hash_[:4].upper())
    assert (chat.work / "a").read_text() == "0"


def test_diff_is_shown_and_changes_nothing(chat: WorkspaceChat) -> None:
    chat.put("a.txt", "old\n")
    chat.put("mode", "x", 0o644)

    def act() -> None:
        chat.put("a.txt", "new ``` fence\n")
        (chat.work / "mode").chmod(0o600)

    chat.turn("edit", act)
    hash_, before = chat.hashes()[0], chat.tree
    answer = chat.rewind(f"diff {hash_}")
    assert "-old" in answer
    assert "+new ``` fence" in answer
    assert "a/a.txt" in answer
    assert "````diff" in answer
    assert "mode of mode: 644 → 600" in answer
    assert chat.tree == before
    assert chat.hashes() == [hash_]


def test_long_diff_is_cut(chat: WorkspaceChat) -> None:
    chat.turn("big", lambda: chat.put("a.txt", "line\n" * 20_000))
    answer = chat.rewind(f"diff {chat.hashes()[0]}")
    assert len(answer) < 20_000
    assert "shortened: the diff is longer" in answer


def test_rewind_without_differences_says_so(chat: WorkspaceChat) -> None:
    chat.put("a", "1")
    chat.turn("nothing")
    assert "nothing was changed" in chat.rewind(chat.hashes()[0])


@pytest.mark.slow
def test_model_is_told_once_about_restored_files(chat: WorkspaceChat) -> None:
    chat.put("a.txt", "old")
    chat.turn("edit", lambda: chat.put("a.txt", "new"))
    chat.rewind(chat.hashes()[0])
    chat.turn("next")
    context = chat.harness.model.last.messages[-3].context or ""
    assert "put back by the person" in context
    assert "read a file again" in context
    chat.harness.model.steps += ["fine"]
    chat.say("and now")
    assert not chat.harness.model.last.messages[-1].context


def test_read_only_folder_is_rewound(chat: WorkspaceChat) -> None:
    chat.put("locked/a", "1")
    chat.put("locked/b", "1")
    (chat.work / "locked").chmod(0o555)
    before = chat.tree

    def act() -> None:
        (chat.work / "locked").chmod(0o755)
        chat.put("locked/a", "2")
        (chat.work / "locked/b").unlink()
        chat.put("locked/c", "2")
        (chat.work / "locked").chmod(0o555)

    chat.turn("unlock", act)
    chat.rewind(chat.hashes()[0])
    assert chat.tree == before
    (chat.work / "locked").chmod(0o755)


def test_folder_swapped_for_a_link_does_not_lead_outside(
    chat: WorkspaceChat, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    chat.put("sub/victim", "mine")

    def act() -> None:
        shutil.rmtree(chat.work / "sub")
        (chat.work / "sub").symlink_to(outside)

    chat.turn("swap", act)
    chat.rewind(chat.hashes()[0])
    assert (outside / "victim").read_text() == "untouched"
    assert not (chat.work / "sub").is_symlink()
    assert (chat.work / "sub/victim").read_text() == "mine"


def test_checkpoints_survive_a_restart(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat()
    chat.put("a", "0")
    chat.turn("one", lambda: chat.put("a", "1"))
    before = chat.hashes()
    chat.harness.close()
    again = make_chat()
    assert again.hashes() == before
    again.rewind(before[0])
    assert (again.work / "a").read_text() == "0"


def test_allowed_folder_outside_the_workspace_is_saved(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    (other / "src/a.txt").write_text("0")
    chat = make_chat(core={"paths.allowed_roots": [str(other)]})
    chat.turn(
        "outside", lambda: (other / "src/a.txt").write_text("1"), path=str(other / "src/a.txt")
    )
    lines = chat.rewind().splitlines()[1:]
    assert len(lines) == 2
    (line,) = [one for one in lines if one.endswith(f"in {other}")]
    chat.rewind(line.split()[0])
    assert (other / "src/a.txt").read_text() == "0"


def test_rewind_leaves_code_that_hookline_runs(
    chat: WorkspaceChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.put("pkg_of_plugin/__init__.py", "")
    chat.put("notes.txt", "before\n")
    chat.turn("Change", lambda: chat.put("notes.txt", "after\n"))
    chat.put("pkg_of_plugin/__init__.py", "fixed = True\n")
    monkeypatch.syspath_prepend(str(chat.work))
    importlib.import_module("pkg_of_plugin")
    try:
        answer = chat.rewind(f"{chat.hashes()[0]} all")
    finally:
        sys.modules.pop("pkg_of_plugin")
    assert (chat.work / "notes.txt").read_text() == "before\n"
    assert (chat.work / "pkg_of_plugin" / "__init__.py").read_text() == "fixed = True\n"
    assert "Hookline runs this code" in answer
