"""The unified diff that people see beside the tool's result."""

from __future__ import annotations


def test_edit_shows_its_diff(bench):
    bench.put("a.txt", "one\r\ntwo\r\nthree\r\n")
    bench("read_file", path="a.txt")
    made = bench.output("edit_file", path="a.txt", old_string="two", new_string="2")
    assert made.text == "Edited a.txt: 1 replacement(s), strategy exact"
    assert made.data["diff"].split("\n") == [
        *("--- a.txt", "+++ a.txt", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")
    ]
    assert (made.data["path"], made.data["added"], made.data["removed"]) == ("a.txt", 1, 1)
    assert made.shown.startswith("Changed a.txt (+1 -1)\n\n--- a.txt\n")


def test_new_file_is_all_additions(bench):
    made = bench.output("write_file", path="n/a.txt", content="x\ny\n")
    assert made.data["diff"].split("\n")[:2] == ["--- /dev/null", "+++ n/a.txt"]
    assert made.data["diff"].endswith("@@ -0,0 +1,2 @@\n+x\n+y")
    assert made.shown.startswith("New file n/a.txt (+2 -0)\n\n")


def test_diff_of_a_replaced_file_omits_notes_for_the_model(bench):
    bench.put("a.txt", "old\nsame\n")
    made = bench.output("write_file", path="a.txt", content="new\nsame\n")
    assert "Note: a.txt existed" in made.text
    assert "Note" not in made.shown
    assert "-old\n+new\n same" in made.shown


def test_text_too_large_to_compare_has_no_diff(make_bench):
    bench = make_bench(max_file_bytes=2_000_000)
    made = bench.output("write_file", path="a.txt", content="x" * 400_001)
    assert (made.data, made.shown) == ({"path": "a.txt"}, "")


def test_file_too_large_to_read_has_no_diff(make_bench):
    bench = make_bench(max_file_bytes=10)
    bench.put("a.txt", "x" * 20)
    assert bench.output("write_file", path="a.txt", content="short").shown == ""
