"""read_file: line numbers, ranges, limits, and files that are not text."""

from __future__ import annotations

import os

import pytest
from hookline_hookspecs import Refused, ToolError


def test_lines_are_numbered(bench):
    bench.put("a.txt", "one\ntwo\n")
    assert bench("read_file", path="a.txt") == "1\tone\n2\ttwo"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\r", ["a", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\x0cb\xe2\x80\xa8c\n", ["a\x0cb\u2028c"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("grün".encode("utf-16"), ["grün"]),
        ("grün".encode("utf-32"), ["grün"]),
        ("grün – 5 €".encode("cp1252"), ["grün – 5 €"]),
        (b"\n", [""]),
    ],
)
def test_lines_are_read_in_every_encoding_and_line_ending(bench, content, lines):
    bench.put("a.txt", content)
    expected = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
    assert bench("read_file", path="a.txt") == expected


def test_range_is_inclusive_and_may_reach_past_the_end(bench):
    bench.put("a.txt", "".join(f"line {n}\n" for n in range(1, 6)))
    assert bench("read_file", path="a.txt", start_line=2, end_line=3) == "2\tline 2\n3\tline 3"
    assert bench("read_file", path="a.txt", start_line=5, end_line=99) == "5\tline 5"


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        (9, None, "start_line 9 is past the end; a.txt has 3 lines"),
        (3, 2, "end_line 2 comes before start_line 3; a.txt has 3 lines"),
        (0, None, "lines are counted from 1; a.txt has 3 lines"),
        (None, -1, "lines are counted from 1; a.txt has 3 lines"),
    ],
)
def test_wrong_range_error_names_the_length(bench, start, end, says):
    bench.put("a.txt", "1\n2\n3\n")
    with pytest.raises(ToolError, match=says):
        bench("read_file", path="a.txt", start_line=start, end_line=end)


def test_parts_of_a_long_file_add_up(make_bench):
    bench = make_bench(read_max_lines=10)
    lines = [f"line {n}" for n in range(1, 26)]
    bench.put("a.txt", "\n".join(lines))
    first = bench("read_file", path="a.txt")
    assert first.endswith("[lines 1-10 of 25 shown; go on with start_line=11]")
    parts = [first] + [bench("read_file", path="a.txt", start_line=n) for n in (11, 21)]
    shown = [row.split("\t")[1] for part in parts for row in part.split("\n") if "\t" in row]
    assert shown == lines
    assert "go on" not in parts[-1]


@pytest.mark.parametrize("width", [1, 40, 1999, 2000, 2001, 60_000])
def test_result_stays_within_its_character_limit(make_bench, width):
    bench = make_bench(read_max_chars=5_000)
    bench.put("a.txt", f"{'x' * width}\n" * 3_000)
    answer = bench("read_file", path="a.txt")
    assert 1 < len(answer) <= 5_000
    assert "go on with start_line=" in answer


def test_very_long_line_is_cut_with_a_mark(bench):
    bench.put("a.js", "x" * 2_345 + "\nend\n")
    first, second = bench("read_file", path="a.js").split("\n")
    assert first == "1\t" + "x" * 2_000 + "… [line cut after 2000 characters]"
    assert second == "2\tend"


@pytest.mark.slow
def test_huge_file_is_read_in_part(bench):
    with (bench.root / "big.log").open("wb") as file:
        for start in range(0, 1_200_000, 10_000):
            file.write(b"".join(b"%09d\r\n" % n for n in range(start, start + 10_000)))
    answer = bench("read_file", path="big.log", start_line=1_000_001, end_line=1_000_002)
    assert answer == "1000001\t001000000\n1000002\t001000001"
    assert bench("read_file", path="big.log").endswith("go on with start_line=2001]")
    with pytest.raises(ToolError, match=r"big.log has 1200000 lines"):
        bench("read_file", path="big.log", start_line=5_000_000)


def test_huge_file_without_line_ends_is_read_in_part(bench):
    bench.put("big.json", b"x" * 12_000_000)
    answer = bench("read_file", path="big.json")
    assert answer.startswith("1\txxx")
    assert len(answer) < 3_000


def test_sparse_gigabyte_is_refused_as_binary(bench):
    with (bench.root / "disk.img").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ToolError, match=r"disk.img is a binary file \(1073741824 bytes\)"):
        bench("read_file", path="disk.img")


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(1, 256)) * 3, b"\xff\xfea", b"text\0text"],
)
def test_binary_file_is_refused(bench, content):
    bench.put("a.bin", content)
    with pytest.raises(ToolError, match=r"a.bin is a binary file"):
        bench("read_file", path="a.bin")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_empty_file_result_says_so(bench, content):
    bench.put("a.txt", content)
    assert bench("read_file", path="a.txt") == "a.txt is empty."


def test_missing_file_error_names_similar_files(bench):
    bench.put("src/settings.py", "")
    bench.put("src/README.md", "")
    with pytest.raises(ToolError, match=r"setting.py does not exist; similar names: settings.py"):
        bench("read_file", path="src/setting.py")
    with pytest.raises(ToolError, match=r"neither does its folder sorce/"):
        bench("read_file", path="sorce/settings.py")


def test_missing_file_error_never_names_files_off_limits(bench):
    bench.put(".env", "KEY=1")
    with pytest.raises(ToolError) as error:
        bench("read_file", path="env")
    assert ".env" not in str(error.value)


def test_folder_error_names_list_dir(bench):
    with pytest.raises(ToolError, match=r"\. is a folder; use list_dir"):
        bench("read_file", path=".")


def test_pipe_is_refused_without_hanging(bench):
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(Refused, match=r"not a file with content"):
        bench("read_file", path="pipe")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", ".env"])
def test_refusal_repeats_the_guards_sentence(bench, path):
    bench.put(".env", "KEY=1")
    with pytest.raises(Refused, match=r"outside the workspace|off limits"):
        bench("read_file", path=path)


def test_impossible_path_is_an_error(bench):
    with pytest.raises(Refused, match=r"control characters"):
        bench("read_file", path="a\0b")


def test_text_passes_pre_read_before_the_model_sees_it(bench):
    bench.put("a.txt", "one\ntwo\n")
    bench.host.gate = lambda text: text.replace("two", "[cut]")
    assert bench("read_file", path="a.txt") == "1\tone\n2\t[cut]"
    assert bench.host.passed == [("a.txt", "one\ntwo")]
    bench.put("b.txt", "REFUSE ME")
    with pytest.raises(Refused, match=r"b.txt holds instructions"):
        bench("read_file", path="b.txt")
