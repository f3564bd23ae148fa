"""write_file: what is kept of the old file, refusals and notes."""

from __future__ import annotations

import os
import stat

import pytest
from hookline_hookspecs import Refused, ToolError


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def test_new_file_gets_its_folders(bench):
    assert bench("write_file", path="a/b/c.txt", content="x\ny\n") == (
        "Created a/b/c.txt: 2 line(s), 4 bytes"
    )
    assert (bench.root / "a/b/c.txt").read_bytes() == b"x\ny\n"


def test_byte_order_mark_is_not_doubled(bench):
    for name in ("first", "second"):
        bench("write_file", path="a.csv", content=f"\ufeff{name};x\n")
        assert (bench.root / "a.csv").read_text("utf-8") == f"\ufeff{name};x\n"


def test_new_file_has_the_mode_the_umask_gives(bench):
    old = os.umask(0o027)
    try:
        bench("write_file", path="a.txt", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((bench.root / "a.txt").stat().st_mode) == 0o640


def test_overwritten_file_keeps_its_mode(bench):
    bench.put("run.sh", "old").chmod(0o751)
    bench("write_file", path="run.sh", content="new")
    assert stat.S_IMODE((bench.root / "run.sh").stat().st_mode) == 0o751


def test_link_stays_a_link(bench):
    bench.put("real/target.txt", "old")
    (bench.root / "link.txt").symlink_to("real/target.txt")
    bench("write_file", path="link.txt", content="new")
    assert (bench.root / "link.txt").is_symlink()
    assert (bench.root / "real/target.txt").read_text() == "new"


def test_read_only_file_is_not_overwritten(bench, monkeypatch):
    path = bench.put("a.txt", "old")
    monkeypatch.setattr(os, "access", lambda path, mode, dir_fd: False)
    with pytest.raises(ToolError, match=r"cannot write a.txt: the file is read-only"):
        bench("write_file", path="a.txt", content="new")
    assert path.read_text() == "old"


def test_write_leaves_no_temporary_files(bench):
    bench("write_file", path="a.txt", content="x")
    bench("write_file", path="a.txt", content="y")
    assert names_in(bench.root) == ["a.txt"]


def test_failed_write_leaves_only_the_old_file(bench, monkeypatch):
    bench.put("a.txt", "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match=r"cannot write a.txt: No space left on device"):
        bench("write_file", path="a.txt", content="new")
    assert names_in(bench.root) == ["a.txt"]
    assert (bench.root / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("old", "content", "stored"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a\nb\n", "c\nd\n", b"c\nd\n"),
        (b"a\nb\n", "c\r\nd\r\n", b"c\r\nd\r\n"),
        (b"a\rb\r", "c\nd\n", b"c\rd\r"),
        (b"\xef\xbb\xbfa\n", "é\n", b"\xef\xbb\xbf\xc3\xa9\n"),
        ("a\r\nb".encode("utf-16"), "ü\n", "ü\r\n".encode("utf-16")),
        (b"\xfe\xff\0a", "b", b"\xfe\xff\0b"),
        ("für\n".encode("cp1252"), "€\n", b"\x80\n"),
    ],
)
def test_encoding_bom_and_line_endings_are_kept(bench, old, content, stored):
    path = bench.put("a.txt", old)
    bench("write_file", path="a.txt", content=content)
    assert path.read_bytes() == stored


def test_character_outside_the_encoding_makes_the_file_utf8_with_a_note(bench):
    path = bench.put("a.txt", "für\r\n".encode("cp1252"))
    answer = bench("write_file", path="a.txt", content="日本\n")
    assert "Note: a.txt was cp1252" in answer
    assert path.read_bytes() == "日本\r\n".encode()


def test_unread_file_is_replaced_with_a_note(bench):
    bench.put("a.txt", "old")
    assert bench("write_file", path="a.txt", content="new").endswith(
        "Note: a.txt existed and had not been read in this session."
    )


def test_file_that_was_read_or_written_is_replaced_without_a_note(bench):
    bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    assert bench("write_file", path="a.txt", content="n") == "Replaced a.txt: 1 line(s), 1 bytes"
    assert bench("write_file", path="a.txt", content="m") == "Replaced a.txt: 1 line(s), 1 bytes"


def test_change_since_the_read_is_reported_before_it_is_overwritten(bench):
    path = bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    path.write_text("someone's work")
    for _ in range(2):
        with pytest.raises(ToolError, match=r"a.txt has changed on disk since you read it"):
            bench("write_file", path="a.txt", content="new")
    assert path.read_text() == "someone's work"
    bench("read_file", path="a.txt")
    bench("write_file", path="a.txt", content="new")
    assert path.read_text() == "new"


def test_change_of_the_same_size_and_time_is_noticed(bench):
    path = bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    times = path.stat()
    path.write_text("new")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ToolError, match=r"has changed on disk"):
        bench("write_file", path="a.txt", content="mine")


def test_touched_file_with_same_content_counts_as_unchanged(bench):
    path = bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    os.utime(path, (1, 1))
    assert bench("write_file", path="a.txt", content="new").startswith("Replaced")


def test_read_files_are_remembered_for_the_session_only(bench):
    path = bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    path.write_text("other")
    bench.new_session()
    assert "had not been read" in bench("write_file", path="a.txt", content="new")


def test_change_during_the_write_is_not_overwritten(bench, monkeypatch):
    path = bench.put("a.txt", "old")
    flush = os.fsync

    def someone_writes(handle: int) -> None:
        flush(handle)
        path.write_text("someone's work")

    monkeypatch.setattr(os, "fsync", someone_writes)
    with pytest.raises(ToolError, match=r"changed by someone else"):
        bench("write_file", path="a.txt", content="new")
    assert path.read_text() == "someone's work"
    assert names_in(bench.root) == ["a.txt"]


def test_same_content_is_not_written_again(bench):
    path = bench.put("a.txt", "x\r\n")
    before = path.stat().st_ino
    assert bench("write_file", path="a.txt", content="x\n") == (
        "a.txt already has exactly this content."
    )
    assert path.stat().st_ino == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a\0b", "NUL character"),
        ("\ud800", r"stored as utf-8, which has no '\\ud800' \(U\+D800\)"),
        ("x" * 101, "would have 101 bytes; at most 100"),
    ],
)
def test_content_that_cannot_be_stored_is_refused(make_bench, content, says):
    bench = make_bench(max_file_bytes=100)
    with pytest.raises(ToolError, match=says):
        bench("write_file", path="a.txt", content=content)
    assert names_in(bench.root) == []


def test_binary_file_is_not_overwritten(bench):
    path = bench.put("a.png", b"\x89PNG\0")
    with pytest.raises(ToolError, match=r"a.png is a binary file"):
        bench("write_file", path="a.png", content="text")
    assert path.read_bytes() == b"\x89PNG\0"


def test_large_text_may_be_replaced_by_a_small_one(make_bench):
    bench = make_bench(max_file_bytes=1_000)
    path = bench.put("a.txt", b"\xef\xbb\xbf" + b"x" * 2_000)
    bench("write_file", path="a.txt", content="y")
    assert path.read_bytes() == b"\xef\xbb\xbfy"


def test_folders_pipes_and_paths_through_files_are_refused(bench):
    bench.put("a.txt", "x")
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(ToolError, match=r"\. is a folder; name a file in it"):
        bench("write_file", path=".", content="x")
    with pytest.raises(Refused, match=r"not a file with content"):
        bench("write_file", path="pipe", content="x")
    with pytest.raises(ToolError, match=r"b was not written: .* is a file, not a folder"):
        bench("write_file", path="a.txt/b", content="x")


def test_write_outside_the_workspace_is_refused(bench):
    with pytest.raises(Refused, match=r"outside the workspace"):
        bench("write_file", path="../a.txt", content="x")
    (bench.root / "out").symlink_to(bench.root.parent)
    with pytest.raises(Refused, match=r"outside the workspace"):
        bench("write_file", path="out/a.txt", content="x")
    assert names_in(bench.root.parent) == ["work"]
