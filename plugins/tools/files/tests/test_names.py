"""Names that hold brackets, unusual spaces and invisible characters."""

from __future__ import annotations

import pytest
from hookline_hookspecs import ToolError

SHOT = "Screenshot 2024-05-01 at 3.41.12\u202fPM.txt"
SAID = "Screenshot 2024-05-01 at 3.41.12 PM.txt"


def test_glob_finds_files_in_folders_with_brackets(bench):
    for name in (
        "app/[id]/page.tsx",
        "app/i/page.tsx",
        "app/[...slug]/a.tsx",
        "app/[[...all]]/b.tsx",
    ):
        bench.put(name, "export")
    assert bench("glob", pattern="app/[id]/*.tsx") == "app/[id]/page.tsx"
    assert bench("glob", pattern="app/[...slug]/*.tsx") == "app/[...slug]/a.tsx"
    assert bench("glob", pattern="app/[[...all]]/*") == "app/[[...all]]/b.tsx"
    assert bench("glob", pattern="[id]/*.tsx", path="app") == "app/[id]/page.tsx"
    assert "app/[id]/page.tsx" in bench("glob", pattern="**/[id]/*.tsx")
    assert "app/[id]/page.tsx:1" in bench("grep", pattern="export", glob="app/[id]/*.tsx")


def test_brackets_still_match_one_character(bench):
    bench.put("src/a1.py", "")
    bench.put("src/b1.py", "")
    assert bench("glob", pattern="sr[abc]/[ab]1.py") == "src/a1.py\nsrc/b1.py"
    bench.put("src/[ab].py", "")
    assert "src/[ab].py" in bench("glob", pattern="src/[ab].py")


@pytest.mark.parametrize(
    "name", [SHOT, SHOT.replace("\u202f", "\xa0"), SHOT.replace("\u202f", "\u2009")]
)
def test_name_with_an_unusual_space_is_shown_and_found_with_a_plain_one(bench, name):
    bench.put(f"sub/{name}", "hello\n")
    assert bench("list_dir", path="sub") == f"{SAID}  6"
    assert bench("glob", pattern="sub/*") == f"sub/{SAID}"
    assert bench("grep", pattern="hello") == f"sub/{SAID}:1: hello"
    for said in (SAID, name):
        assert bench("read_file", path=f"sub/{said}") == "1\thello"
        assert bench("grep", pattern="hello", path=f"sub/{said}").endswith("1: hello")
    bench("edit_file", path=f"sub/{SAID}", old_string="hello", new_string="bye")
    bench("write_file", path=f"sub/{SAID}", content="new\n")
    assert [file.name for file in (bench.root / "sub").iterdir()] == [name]


def test_folder_with_an_unusual_space_is_found(bench):
    bench.put("my\xa0notes/a.txt", "hello\n")
    assert bench("read_file", path="my notes/a.txt") == "1\thello"
    bench("write_file", path="my notes/b.txt", content="new\n")
    assert (bench.root / "my\xa0notes" / "b.txt").exists()


def test_joined_emoji_may_be_left_out_and_hidden_characters_are_spelt(bench):
    bench.put("\U0001f469\u200d\U0001f4bb.txt", "joined\n")
    bench.put("pay\u202egnp.txt", "turned\n")
    assert bench("read_file", path="\U0001f469\U0001f4bb.txt") == "1\tjoined"
    assert "pay\\u202egnp.txt" in bench("list_dir")
    assert bench("read_file", path="pay\\u202egnp.txt") == "1\tturned"


def test_names_that_differ_only_in_a_space_are_told_apart(bench):
    bench.put("a\xa0b.txt", "one\n")
    bench.put("a\u202fb.txt", "two\n")
    shown = bench("list_dir").split("\n")
    assert [line.split("  ")[0] for line in shown] == ["a\\xa0b.txt", "a\\u202fb.txt"]
    assert bench("read_file", path="a\\u202fb.txt") == "1\ttwo"
    with pytest.raises(ToolError, match=r"does not exist; similar names: .*a\\xa0b.txt"):
        bench("read_file", path="a b.txt")


@pytest.mark.parametrize("path", ["newdir/", "newdir/sub/", "newdir/."])
def test_write_to_a_folder_is_refused(bench, path):
    with pytest.raises(ToolError, match="names a folder and nothing was written; add the name"):
        bench("write_file", path=path, content="x")
    assert not (bench.root / "newdir").exists()
