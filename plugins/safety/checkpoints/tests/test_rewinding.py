"""A rewind puts back exactly what was there, and can be undone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import calls

from .conftest import Desk, Hands, undo_of


def test_turn_can_be_rewound_and_the_rewind_undone(desk: Desk) -> None:
    desk.put("keep.txt", "same\n")
    desk.put("edit.txt", "before\n")
    desk.put("gone/deep.txt", "deleted\n")
    before = desk.tree

    def act() -> None:
        desk.put("edit.txt", "after\n")
        desk.put("new/made.txt", "created\n")
        shutil.rmtree(desk.work / "gone")

    assert desk.warnings(desk.turn("Improve everything", act)) == []
    after = desk.tree
    assert after != before
    (hash_,) = desk.hashes()
    answer = desk.rewind(hash_)
    assert desk.tree == before
    assert "2 files restored, 1 file removed" in answer
    assert "Removed, because created since: new/made.txt" in answer
    assert "before “Improve everything”" in answer
    desk.rewind(undo_of(answer))
    assert desk.tree == after


def test_checkpoints_are_listed_per_turn_newest_first(desk: Desk) -> None:
    for number in range(3):
        desk.turn(f"Step {number}", lambda number=number: desk.put("n.txt", str(number)))
    listed = desk.rewind().splitlines()[1:]
    assert [line.rsplit("  ", 1)[1] for line in listed] == ["Step 2", "Step 1", "Step 0"]
    assert [line.split("  ")[2] for line in listed] == ["+0 ~1 -0", "+0 ~1 -0", "+1 ~0 -0"]
    desk.rewind(desk.hashes()[1])
    assert (desk.work / "n.txt").read_text() == "0"


def test_turn_has_one_checkpoint_from_before_its_first_write(desk: Desk) -> None:
    desk.put("a.txt", "0")
    desk.harness.model.steps += [calls("act"), calls("act"), "done"]
    numbers = iter("12")
    Hands.todo = staticmethod(lambda: desk.put("a.txt", next(numbers)))
    desk.say("twice")
    (hash_,) = desk.hashes()
    desk.rewind(hash_)
    assert (desk.work / "a.txt").read_text() == "0"


def test_reading_takes_no_checkpoint(desk: Desk) -> None:
    desk.harness.model.steps += [calls("look"), "done"]
    desk.say("look")
    assert "There is no checkpoint in this chat yet" in desk.rewind()
    assert not (desk.home / "checkpoints" / "store").exists()


def test_turns_without_a_change_share_one_line_with_the_newest_title(desk: Desk) -> None:
    desk.put("a.txt", "0")
    desk.turn("looked around")
    (first,) = desk.hashes()
    desk.turn("broke it", lambda: desk.put("a.txt", "1"))
    lines = desk.rewind().splitlines()[1:]
    assert len(lines) == 1
    assert lines[0].endswith("broke it")
    desk.rewind(first)
    assert (desk.work / "a.txt").read_text() == "0"


def test_rollback_is_an_alias(desk: Desk) -> None:
    desk.turn("one", lambda: desk.put("a.txt"))
    assert desk.say("/ROLLBACK").text == desk.say("/rewind").text


def test_modes_and_links_are_restored(desk: Desk) -> None:
    desk.put("run.sh", "#!/bin/sh\n", 0o755)
    desk.put("plain", "x", 0o644)
    desk.put("private", "x", 0o600)
    desk.put("readonly", "x", 0o444)
    desk.put("folder/inner", "x")
    (desk.work / "folder").chmod(0o750)
    (desk.work / "link").symlink_to("plain")
    (desk.work / "dangling").symlink_to("/nowhere/at/all")
    (desk.work / "to-folder").symlink_to("folder")
    before = desk.tree

    def act() -> None:
        for name, mode in (("run.sh", 0o644), ("plain", 0o755), ("private", 0o644)):
            (desk.work / name).chmod(mode)
        (desk.work / "folder").chmod(0o700)
        (desk.work / "readonly").unlink()
        for name in ("link", "dangling", "to-folder"):
            (desk.work / name).unlink()
        (desk.work / "link").symlink_to("other")
        desk.put("to-folder/inner", "now a folder")

    desk.turn("modes", act)
    after = desk.tree
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    desk.rewind(undo_of(answer))
    assert desk.tree == after


def test_rewind_turns_files_into_folders_and_back(desk: Desk) -> None:
    desk.put("a", "a file")
    desk.put("b/c/d", "deep")
    desk.put("e", "file")
    before = desk.tree

    def act() -> None:
        (desk.work / "a").unlink()
        desk.put("a/inner/most", "now a folder")
        shutil.rmtree(desk.work / "b")
        desk.put("b", "now a file")
        (desk.work / "e").unlink()
        (desk.work / "e").symlink_to("a")

    desk.turn("turn around", act)
    after = desk.tree
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    desk.rewind(undo_of(answer))
    assert desk.tree == after


def test_empty_folders_are_restored_and_removed(desk: Desk) -> None:
    (desk.work / "empty/inside").mkdir(parents=True)
    before = desk.tree

    def act() -> None:
        shutil.rmtree(desk.work / "empty")
        (desk.work / "other/new").mkdir(parents=True)

    desk.turn("folders", act)
    desk.rewind(desk.hashes()[0])
    assert desk.tree == before


def test_bytes_are_restored_exactly(desk: Desk) -> None:
    """No filter, no line ending, no keyword and no encoding of the folder's own rules applies."""
    desk.put(
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
        desk.put(name, content)
    before = desk.tree

    def act() -> None:
        for name in contents:
            desk.put(name, "changed")

    desk.turn("rewrite", act)
    desk.rewind(desk.hashes()[0])
    assert desk.tree == before


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


def test_any_name_can_be_saved(desk: Desk) -> None:
    for name in NAMES:
        desk.put(name, name)
        desk.put(b"in " + name[:200] + b"/" + name, name)
    before = desk.tree
    assert len(before) == 3 * len(NAMES)

    def act() -> None:
        for path in desk.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in NAMES:
            desk.put(b"new " + name[:200], b"other")

    assert desk.warnings(desk.turn("names", act)) == []
    after = desk.tree
    answer = desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    assert answer.isprintable() or all(line.isprintable() for line in answer.split("\n"))
    desk.rewind(undo_of(answer))
    assert desk.tree == after


def test_deep_paths_are_saved(desk: Desk) -> None:
    deep = "/".join(["folder-of-thirty-characters-ok"] * 90)
    desk.put(f"{deep}/file", "deep")
    before = desk.tree
    desk.turn("cut", lambda: shutil.rmtree(desk.work / deep.split("/")[0]))
    assert desk.tree == {}
    desk.rewind(desk.hashes()[0])
    assert desk.tree == before


def test_rewind_of_one_file_leaves_the_rest(desk: Desk) -> None:
    desk.put("a b.txt", "1")
    desk.put("c.txt", "1")

    def act() -> None:
        desk.put("a b.txt", "2")
        desk.put("c.txt", "2")
        desk.put("new.txt", "2")

    desk.turn("two", act)
    hash_ = desk.hashes()[0]
    answer = desk.rewind(f"{hash_} -- a b.txt")
    assert answer.startswith("a b.txt is back")
    assert {p.name: p.read_text() for p in desk.work.iterdir()} == {
        "a b.txt": "1",
        "c.txt": "2",
        "new.txt": "2",
    }
    assert "new.txt" in desk.rewind(f"{hash_} -- {desk.work}/new.txt")
    assert not (desk.work / "new.txt").exists()
    assert (desk.work / "c.txt").read_text() == "2"


def test_rewind_of_one_folder_leaves_the_rest(desk: Desk) -> None:
    desk.put("src/a", "1")
    desk.put("b", "1")

    def act() -> None:
        shutil.rmtree(desk.work / "src")
        desk.put("b", "2")

    desk.turn("two", act)
    desk.rewind(f"{desk.hashes()[0]} -- src/")
    assert (desk.work / "src/a").read_text() == "1"
    assert (desk.work / "b").read_text() == "2"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../x", "."])
def test_path_outside_the_workspace_is_refused(desk: Desk, path: str) -> None:
    desk.turn("one", lambda: desk.put("a", "1"))
    before = desk.tree
    assert "is not below" in desk.rewind(f"{desk.hashes()[0]} -- {path}")
    assert desk.tree == before


def test_unknown_path_is_an_error(desk: Desk) -> None:
    desk.put(".env", "SECRET=1")
    desk.turn("one", lambda: desk.put("a", "1"))
    hash_ = desk.hashes()[0]
    assert desk.rewind(f"{hash_} -- nothing") == "The checkpoint does not hold nothing."
    assert "its name is that of a secret" in desk.rewind(f"{hash_} -- .env")


@pytest.mark.parametrize(
    "args", ["abc", "xyz1", "12345678g", "a" * 65, "-- a", "diff", "diff  ", "abcd extra", "--help"]
)
def test_wrong_arguments_show_the_usage(desk: Desk, args: str) -> None:
    assert "4 to 64 hexadecimal digits" in desk.rewind(args)


def test_unknown_hash_is_an_error(desk: Desk) -> None:
    desk.turn("one", lambda: desk.put("a", "1"))
    for unknown in ("ffffffff", "f" * 64):
        assert f"There is no checkpoint {unknown}" in desk.rewind(unknown)


def test_hash_may_be_shortened_and_in_any_case(desk: Desk) -> None:
    desk.put("a", "0")
    desk.turn("one", lambda: desk.put("a", "1"))
    hash_ = desk.hashes()[0]
    desk.rewind(hash_[:4].upper())
    assert (desk.work / "a").read_text() == "0"


def test_diff_is_shown_and_changes_nothing(desk: Desk) -> None:
    desk.put("a.txt", "old\n")
    desk.put("mode", "x", 0o644)

    def act() -> None:
        desk.put("a.txt", "new ``` fence\n")
        (desk.work / "mode").chmod(0o600)

    desk.turn("edit", act)
    hash_, before = desk.hashes()[0], desk.tree
    answer = desk.rewind(f"diff {hash_}")
    assert "-old" in answer
    assert "+new ``` fence" in answer
    assert "a/a.txt" in answer
    assert "````diff" in answer
    assert "mode of mode: 644 → 600" in answer
    assert desk.tree == before
    assert desk.hashes() == [hash_]


def test_long_diff_is_cut(desk: Desk) -> None:
    desk.turn("big", lambda: desk.put("a.txt", "line\n" * 20_000))
    answer = desk.rewind(f"diff {desk.hashes()[0]}")
    assert len(answer) < 20_000
    assert "this is its beginning" in answer


def test_rewind_without_differences_says_so(desk: Desk) -> None:
    desk.put("a", "1")
    desk.turn("nothing")
    assert "nothing had to be changed" in desk.rewind(desk.hashes()[0])


def test_model_is_told_once_about_restored_files(desk: Desk) -> None:
    desk.put("a.txt", "old")
    desk.turn("edit", lambda: desk.put("a.txt", "new"))
    desk.rewind(desk.hashes()[0])
    desk.turn("next")
    context = desk.harness.model.last.messages[-3].context or ""
    assert "put back by the person" in context
    assert "read a file again" in context
    desk.harness.model.steps += ["fine"]
    desk.say("and now")
    assert not desk.harness.model.last.messages[-1].context


def test_read_only_folder_is_rewound(desk: Desk) -> None:
    desk.put("locked/a", "1")
    desk.put("locked/b", "1")
    (desk.work / "locked").chmod(0o555)
    before = desk.tree

    def act() -> None:
        (desk.work / "locked").chmod(0o755)
        desk.put("locked/a", "2")
        (desk.work / "locked/b").unlink()
        desk.put("locked/c", "2")
        (desk.work / "locked").chmod(0o555)

    desk.turn("unlock", act)
    desk.rewind(desk.hashes()[0])
    assert desk.tree == before
    (desk.work / "locked").chmod(0o755)


def test_folder_swapped_for_a_link_does_not_lead_outside(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    desk.put("sub/victim", "mine")

    def act() -> None:
        shutil.rmtree(desk.work / "sub")
        (desk.work / "sub").symlink_to(outside)

    desk.turn("swap", act)
    desk.rewind(desk.hashes()[0])
    assert (outside / "victim").read_text() == "untouched"
    assert not (desk.work / "sub").is_symlink()
    assert (desk.work / "sub/victim").read_text() == "mine"


def test_checkpoints_survive_a_restart(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    desk.put("a", "0")
    desk.turn("one", lambda: desk.put("a", "1"))
    before = desk.hashes()
    desk.harness.close()
    again = make_desk()
    assert again.hashes() == before
    again.rewind(before[0])
    assert (again.work / "a").read_text() == "0"


def test_allowed_folder_outside_the_workspace_is_saved(
    make_desk: Callable[..., Desk], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    (other / "src/a.txt").write_text("0")
    desk = make_desk(core={"paths.allowed_roots": [str(other)]})
    desk.turn(
        "outside", lambda: (other / "src/a.txt").write_text("1"), path=str(other / "src/a.txt")
    )
    lines = desk.rewind().splitlines()[1:]
    assert len(lines) == 2
    (line,) = [one for one in lines if one.endswith(f"in {other}")]
    desk.rewind(line.split()[0])
    assert (other / "src/a.txt").read_text() == "0"
