"""list_dir, glob and grep."""

from __future__ import annotations

import os
import re
from pathlib import PurePath

import pytest
from hookline_files.glob_pattern import GlobPattern
from hookline_hookspecs import Refused, ToolError
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def tree(bench):
    for name in (
        "README.md",
        "src/app.py",
        "src/core/bus.py",
        "src/core/bus.ts",
        "src/core/deep/er/x.py",
        "tests/test_app.py",
        ".github/ci.yml",
        ".git/config",
        "src/.cache/y.py",
        ".env",
    ):
        bench.put(name, f"this is {name}\n")
    return bench


def test_list_dir_sorts_and_shows_sizes(bench):
    bench.put("b.txt", "12345")
    bench.put("a/x", "")
    bench.put(".hidden", "1")
    (bench.root / "c").symlink_to("b.txt")
    (bench.root / "d").symlink_to("nowhere")
    os.mkfifo(bench.root / "e")
    assert bench("list_dir").split("\n") == [
        ".hidden  1",
        "a/",
        "b.txt  5",
        "c -> b.txt",
        "d -> nowhere",
        "e (not a regular file)",
    ]


def test_list_dir_cuts_a_long_folder_with_a_note(make_bench):
    bench = make_bench(list_max_entries=3)
    for n in range(5):
        bench.put(f"{n}", "")
    assert bench("list_dir").split("\n")[2:] == [
        "2  0",
        "[3 of 5 entries shown; use glob for others]",
    ]


def test_list_dir_shows_undecodable_names_on_one_line(bench):
    (bench.root / os.fsdecode(b"caf\xe9\n")).write_text("")
    assert bench("list_dir") == "caf\\xe9\\n  0"


def test_list_dir_refuses_paths_it_cannot_list(bench):
    bench.put("a.txt", "x")
    bench.put("empty/x", "").unlink()
    assert bench("list_dir", path="empty") == "empty is empty."
    with pytest.raises(ToolError, match=r"a.txt is a file; use read_file"):
        bench("list_dir", path="a.txt")
    with pytest.raises(ToolError, match=r"emty does not exist; similar names: empty"):
        bench("list_dir", path="emty")
    with pytest.raises(Refused, match=r"outside the workspace"):
        bench("list_dir", path="..")


@pytest.mark.parametrize(
    ("pattern", "path", "names"),
    [
        ("*.md", ".", ["README.md"]),
        (
            "**/*.py",
            ".",
            ["src/app.py", "src/core/bus.py", "src/core/deep/er/x.py", "tests/test_app.py"],
        ),
        ("src/*.py", ".", ["src/app.py"]),
        ("src/**/*.py", ".", ["src/app.py", "src/core/bus.py", "src/core/deep/er/x.py"]),
        ("src/**/er/*", ".", ["src/core/deep/er/x.py"]),
        ("**/bus.{py,ts}", ".", ["src/core/bus.py", "src/core/bus.ts"]),
        ("{src,tests}/*app*", ".", ["src/app.py", "tests/test_app.py"]),
        ("*.py", "src", ["src/app.py"]),
        ("./src/ap?.py", ".", ["src/app.py"]),
        ("src/[!b]*.py", ".", ["src/app.py"]),
        ("src/app.py", ".", ["src/app.py"]),
        ("tests/**", ".", ["tests/test_app.py"]),
        (".github/*", ".", [".github/ci.yml"]),
        ("**/.*/*.py", ".", ["src/.cache/y.py"]),
        ("**/config", ".", []),
        ("**/.git/config", ".", []),
        ("**/.env", ".", []),
        ("*.PY", "src", []),
    ],
)
def test_glob_finds_matching_paths(tree, pattern, path, names):
    answer = tree("glob", pattern=pattern, path=path)
    expected = "\n".join(names) or f"No file below {path} matches {pattern}."
    assert answer == expected


def test_glob_takes_an_absolute_pattern_inside_the_workspace(tree):
    assert tree("glob", pattern=f"{tree.root}/src/*.py") == "src/app.py"
    with pytest.raises(Refused, match=r"outside the workspace"):
        tree("glob", pattern="/etc/*.conf")
    with pytest.raises(Refused, match=r"outside the workspace"):
        tree("glob", pattern="../*")


def test_glob_is_cut_with_a_note(make_bench):
    bench = make_bench(glob_max_results=2)
    for name in "cab":
        bench.put(name, "")
    assert bench("glob", pattern="*") == "a\nb\n[2 of 3 files shown; narrow the pattern]"


def test_glob_does_not_follow_links_out_or_around(tree):
    (tree.root / "out").symlink_to(tree.root.parent)
    (tree.root / "tests/loop").symlink_to("..")
    (tree.root / "tests/passwd").symlink_to("/etc/passwd")
    assert tree("glob", pattern="tests/**") == "tests/test_app.py"


@pytest.mark.parametrize("pattern", ["", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_glob_refuses_invalid_patterns(tree, pattern):
    with pytest.raises(ToolError, match=r"pattern"):
        tree("glob", pattern=pattern)


@pytest.mark.parametrize("pattern", ["[", "{", "a{b", "***", "**/**/**/**/**/zz", "*a" * 60])
def test_odd_glob_patterns_give_an_answer(tree, pattern):
    tree.put("a" * 200, "")
    assert tree("glob", pattern=pattern)


@given(parts=st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5), data=st.data())
def test_glob_pattern_made_from_a_path_matches_it(parts, data):
    start = data.draw(st.integers(0, len(parts) - 1))
    stop = data.draw(st.integers(start, len(parts) - 1))
    pattern = "/".join([*parts[:start], "**", *("*" for _ in parts[stop:])])
    assert GlobPattern(pattern).matches(PurePath(*parts))
    assert not GlobPattern(pattern + "/zz").matches(PurePath(*parts))


def test_grep_names_path_line_and_text(tree):
    tree.put("src/app.py", "import os\r\nprint('Hello')\r\n")
    assert tree("grep", pattern=r"print\(") == "src/app.py:2: print('Hello')"
    assert tree("grep", pattern="HELLO", ignore_case=True) == "src/app.py:2: print('Hello')"
    assert tree("grep", pattern="import", path="src/app.py") == "src/app.py:1: import os"


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        (None, ["README.md", "src/app.py", "src/core/bus.py", "src/core/bus.ts"]),
        ("*.ts", ["src/core/bus.ts"]),
        ("src/*.py", ["src/app.py"]),
        (".github/**", [".github/ci.yml"]),
        ("*.{md,ts}", ["README.md", "src/core/bus.ts"]),
    ],
)
def test_grep_searches_only_files_that_match_its_glob(tree, glob, names):
    arguments = {} if glob is None else {"glob": glob}
    answer = tree("grep", pattern="^this is", **arguments).split("\n")
    assert [row.split(":")[0] for row in answer][: len(names)] == names


def test_grep_never_shows_files_that_are_off_limits(tree):
    (tree.root / "tests/passwd").symlink_to("/etc/passwd")
    answer = tree("grep", pattern="root|this is .env", glob=".env")
    assert answer == "No line matches root|this is .env (0 files searched)."
    assert "tests/passwd" not in tree("grep", pattern="root")


def test_grep_says_when_there_are_more_matches(make_bench):
    bench = make_bench(grep_max_matches=2)
    bench.put("a.txt", "x\nx\n")
    assert bench("grep", pattern="x") == "a.txt:1: x\na.txt:2: x"
    bench.put("b.txt", "x\n")
    assert bench("grep", pattern="x").endswith(
        "[2 matches shown, there are more; narrow pattern, path or glob]"
    )


def test_grep_shows_the_match_in_a_long_line(bench):
    bench.put("a.js", "x" * 50_000 + "NEEDLE" + "y" * 50_000)
    answer = bench("grep", pattern="NEEDLE")
    assert "NEEDLE" in answer
    assert len(answer) < 400


def test_grep_skips_binary_and_large_files(bench):
    bench.put("a.bin", b"needle\0")
    bench.put("large.txt", b"needle\n" * 1_500_000)
    bench.put("a.txt", "needle\n")
    os.mkfifo(bench.root / "pipe")
    assert bench("grep", pattern="needle") == "a.txt:1: needle\n[1 file(s) too large to search]"
    with pytest.raises(ToolError, match=r"a.bin is binary"):
        bench("grep", pattern="needle", path="a.bin")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", r"'\(' is not a valid regular expression: missing \) at position 1"),
        ("", "the pattern is empty"),
        ("((a{900}){900}){900}", "the pattern is too large"),
        ("x" * 3_000, "the pattern is too large"),
    ],
)
def test_grep_refuses_invalid_patterns(tree, pattern, says):
    with pytest.raises(ToolError, match=says):
        tree("grep", pattern=pattern)


@pytest.mark.slow
def test_grep_stops_a_catastrophic_pattern(bench):
    bench.put("a.txt", "a" * 100 + "b\n")
    bench.put("b.txt", "aaa\n")
    answer = bench("grep", pattern="(a|aa|a?a)+$")
    assert answer == "b.txt:1: aaa\n[the pattern took too long in 1 file(s): a.txt]"


LINES = st.lists(st.text(st.sampled_from("ab c1"), max_size=6), min_size=1, max_size=6)
PATTERNS = st.sampled_from(
    [
        *("^a", "b$", "^$", "[^a]b", "a.*b", "(a|b)+c", "^[^b]*$", "(?i)A"),
        *(r"\s+b", r"a\s*$", r"a\b", r"\Ba", r"(\w)\1", r"\Aa", r"b\Z"),
        *("a(?!b)", "a(?! )", "(?<!a)b", "a*+b", "b[^a]*+$", "(?>a+)b"),
    ]
)


@given(lines=LINES, pattern=PATTERNS)
def test_grep_finds_what_a_search_of_each_line_finds(bench, lines, pattern):
    bench.put("a.txt", "\n".join(lines) + "\n")
    expected = [f"a.txt:{n}: {s}" for n, s in enumerate(lines, 1) if re.search(pattern, s)]
    answer = bench("grep", pattern=pattern)
    assert answer.split("\n") == expected or (not expected and answer.startswith("No line"))


def test_grep_matches_pass_pre_read_file_by_file(bench):
    bench.put("a.txt", "x: REFUSE ME\n")
    bench.put("b.txt", "x: fine\n")
    assert bench("grep", pattern="x").split("\n") == [
        "[a.txt: a.txt holds instructions to the model]",
        "b.txt:1: x: fine",
    ]
