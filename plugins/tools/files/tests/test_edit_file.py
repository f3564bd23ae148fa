"""edit_file: only the matched region changes, in every encoding and with every line ending."""

from __future__ import annotations

import codecs
import os

import pytest
from hookline_hookspecs import HooklineError, ToolError
from hypothesis import assume, given
from hypothesis import strategies as st

STORED = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-16 little": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16 big": (codecs.BOM_UTF16_BE, "utf-16-be"),
    "utf-32 little": (codecs.BOM_UTF32_LE, "utf-32-le"),
    "legacy": (b"", "cp1252"),
}
LEGACY = "abc é€ü\t–"
PIECES = st.text(
    st.one_of(st.sampled_from("ab \t\n"), st.characters(exclude_categories=["Cs", "Cc"])),
    max_size=30,
)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


def edit(bench, old, new, **more):
    return bench("edit_file", path="a.txt", old_string=old, new_string=new, **more)


def test_result_names_count_and_strategy(bench):
    path = bench.put("a.txt", "one two three")
    assert edit(bench, "two", "2") == "Edited a.txt: 1 replacement(s), strategy exact"
    assert path.read_text() == "one 2 three"


@pytest.mark.long
@given(
    before=PIECES,
    old=PIECES,
    after=PIECES,
    new=PIECES,
    ending=ENDINGS,
    stored=st.sampled_from([*STORED]),
)
def test_edit_changes_only_the_matched_region(bench, before, old, after, new, ending, stored):
    mark, encoding = STORED[stored]
    if stored == "legacy":
        before, old, after, new = (
            "".join(LEGACY[ord(c) % len(LEGACY)] if c != "\n" else c for c in piece)
            for piece in (before, old, after, new)
        )
        before = "é" + before + " "  # A lone é is what keeps it from being UTF-8.
    text = before + old + after
    assume(old.strip() and old != new and text.find(old) == text.rfind(old))
    assume(not (stored == "utf-8" and text.startswith("\ufeff")))
    assume(ending != "\r" or "\n" in text)

    def on_disk(piece: str) -> bytes:
        return piece.replace("\n", ending).encode(encoding)

    usual = ending if "\n" in text else "\n"
    path = bench.put("a.txt", mark + on_disk(text))
    assert edit(bench, old, new).startswith("Edited a.txt: 1 replacement(s)")
    changed = new.replace("\n", usual).encode(encoding)
    assert path.read_bytes() == mark + on_disk(before) + changed + on_disk(after)


@given(lines=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["\n", "\r\n"]))))
def test_mixed_line_endings_stay_as_they_are(bench, lines):
    text = "".join(line + end for line, end in lines)
    path = bench.put("a.txt", f"{text}TARGET\r\n{text}")
    edit(bench, "TARGET\n", "one\ntwo\n")
    assert path.read_bytes() == f"{text}one\r\ntwo\r\n{text}".encode()


def test_old_string_may_have_the_line_endings_of_the_file(bench):
    path = bench.put("a.txt", "a\r\nb\r\nc\r\n")
    edit(bench, "a\r\nb", "x\r\ny")
    assert path.read_bytes() == b"x\r\ny\r\nc\r\n"


def test_replace_all_replaces_every_occurrence(bench):
    path = bench.put("a.txt", "x-x-x")
    assert edit(bench, "x", "yy", replace_all=True) == (
        "Edited a.txt: 3 replacement(s), strategy exact"
    )
    assert path.read_text() == "yy-yy-yy"


def test_overlapping_matches_are_replaced_once_each(bench):
    path = bench.put("a.txt", "aaaaa")
    assert "2 replacement(s)" in edit(bench, "aa", "b", replace_all=True)
    assert path.read_text() == "bba"
    path.write_text("ababa")
    assert "1 replacement(s)" in edit(bench, "aba", "z", replace_all=True)
    assert path.read_text() == "zba"


def test_several_matches_are_refused_with_count_and_lines(bench):
    path = bench.put("a.txt", "x\r\ny\r\nx\r\n\r\nx\r\n")
    with pytest.raises(ToolError, match=r"occurs 3 times in a.txt \(lines 1, 3, 5\)"):
        edit(bench, "x", "z")
    assert path.read_bytes() == b"x\r\ny\r\nx\r\n\r\nx\r\n"


def test_overlapping_matches_are_ambiguous(bench):
    bench.put("a.txt", "ababa")
    with pytest.raises(ToolError, match=r"occurs 2 times"):
        edit(bench, "aba", "z")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "x", "old_string is empty"),
        ("a", "a", "are the same"),
        ("a\r\n", "a\n", "are the same"),
    ],
)
def test_empty_or_unchanged_edit_is_refused(bench, old, new, says):
    bench.put("a.txt", "a\n")
    with pytest.raises(ToolError, match=says):
        edit(bench, old, new)


def test_no_match_shows_the_closest_lines(bench):
    bench.put("a.py", "import os\n\ndef total(items):\n    return sum(items)\n")
    with pytest.raises(ToolError) as error:
        bench(
            "edit_file",
            path="a.py",
            old_string="def totals(items):\n    return sum(item)",
            new_string="x",
        )
    assert "old_string was not found in a.py: the closest lines are" in str(error.value)
    assert "3\tdef total(items):\n4\t    return sum(items)" in str(error.value)


def test_no_match_without_similar_lines_says_so(bench):
    bench.put("a.txt", "completely\ndifferent\n")
    with pytest.raises(ToolError, match=r"no line is similar; read the file again"):
        edit(bench, "0123456789", "x")


def test_line_numbers_in_old_string_are_pointed_out(bench):
    bench.put("a.txt", "alpha\nbeta\n")
    with pytest.raises(ToolError, match=r"leave out the line numbers.*\n2\tbeta"):
        edit(bench, "2\tbeta", "gamma")


def test_no_match_in_a_large_file_gives_a_short_error(bench):
    bench.put("a.txt", "".join(f"value_{n} = compute({n})\n" for n in range(30_000)))
    with pytest.raises(ToolError, match=r"closest lines") as error:
        edit(bench, "\n".join(f"value_{n} = computed({n})" for n in range(40)), "x")
    assert len(str(error.value)) < 3_000


def test_character_the_encoding_lacks_is_refused(bench):
    path = bench.put("a.txt", b"caf\xe9")
    with pytest.raises(ToolError, match=r"a.txt is stored as cp1252, which has no '日'"):
        edit(bench, "caf", "日")
    assert path.read_bytes() == b"caf\xe9"


def test_latin1_bytes_that_cp1252_lacks_survive(bench):
    path = bench.put("a.txt", b"caf\xe9 \x81 old")
    edit(bench, "old", "ü")
    assert path.read_bytes() == b"caf\xe9 \x81 \xfc"


def test_edit_keeps_mode_and_link(bench):
    target = bench.put("real.sh", "old")
    target.chmod(0o700)
    (bench.root / "a.txt").symlink_to("real.sh")
    edit(bench, "old", "new")
    assert (bench.root / "a.txt").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o700
    assert target.read_text() == "new"


def test_edit_needs_no_read_and_does_not_count_as_one(bench):
    bench.put("a.txt", "old")
    assert "Note" not in edit(bench, "old", "new")
    assert "had not been read" in bench("write_file", path="a.txt", content="x")


def test_edited_file_still_counts_as_read(bench):
    bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    edit(bench, "old", "new")
    assert "Note" not in bench("write_file", path="a.txt", content="x")


def test_edit_of_a_changed_file_adds_a_note(bench):
    path = bench.put("a.txt", "old")
    bench("read_file", path="a.txt")
    path.write_text("more\nold")
    assert "Note: a.txt had changed on disk" in edit(bench, "old", "new")
    assert path.read_text() == "more\nnew"
    with pytest.raises(ToolError, match=r"has changed on disk"):
        bench("write_file", path="a.txt", content="lost")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.txt", "no.txt does not exist; similar names: now.txt"),
        ("folder", "folder is a folder"),
        ("a.bin", "a.bin is a binary file"),
        ("large.txt", "large.txt has 2000 bytes; at most 1000 can be edited"),
        ("pipe", "not a file with content"),
        ("../x", "outside the workspace"),
    ],
)
def test_refused_edits(make_bench, name, says):
    bench = make_bench(max_file_bytes=1_000)
    bench.put("now.txt", "x")
    bench.put("folder/x", "x")
    bench.put("a.bin", b"\0")
    bench.put("large.txt", "x" * 2_000)
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(HooklineError, match=says):
        bench("edit_file", path=name, old_string="x", new_string="y")
