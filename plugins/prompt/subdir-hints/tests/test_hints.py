"""The hint that is added after a tool has touched a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hookline.testing import calls


def test_hint_of_a_touched_folder_is_a_note(bench):
    bench.put("sub/AGENTS.md", "Use tabs.\r\n")
    assert bench.touch("sub/new.py") == (
        "touched\n\nNote: Hints for sub/ from sub/AGENTS.md:\nUse tabs."
    )


@pytest.mark.parametrize("argument", ["path", "file_path", "cwd"])
def test_path_arguments_touch_a_folder(bench, argument):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.run(calls("touch", **{argument: "sub"}))[0]


@pytest.mark.parametrize(
    "command", ["cat sub/x", "cd sub && make", "ls sub", "cat sub/*.py", "bash -c 'cat sub/x'"]
)
def test_shell_command_touches_a_folder(bench, command):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.bash(command)


def test_command_touches_below_its_workdir(bench):
    bench.put("sub/in/AGENTS.md")
    assert "HINT" in bench.bash("cat in/x", workdir="sub")


def test_absolute_and_indirect_paths_touch_the_same_folder(bench):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.touch(str(bench.workspace / "sub"))
    assert "HINT" not in bench.touch("other/../sub/./x")


def test_nearest_file_is_the_hint(bench):
    bench.put("a/AGENTS.md", "FAR")
    bench.put("a/b/CLAUDE.md", "NEAR")
    found = bench.touch("a/b/c/x")
    assert "NEAR" in found
    assert "FAR" not in found
    assert "FAR" in bench.touch("a/x")


def test_hint_file_names_have_a_priority(bench):
    for name in (".cursorrules", "CLAUDE.md", "AGENTS.md"):
        bench.put(f"sub/{name}", f"from {name}.")
    assert "from AGENTS.md." in bench.touch("sub")
    bench.put("rules/.cursorrules", "RULES")
    assert "RULES" in bench.touch("rules")


def test_number_of_parent_folders_searched_is_limited(bench):
    bench.put("a/AGENTS.md")
    assert "HINT" not in bench.touch("a/b/c/d/e/f/x")
    (bench.workspace / "a/b/c/d/e").mkdir(parents=True)
    assert "HINT" in bench.touch("a/b/c/d/e")


def test_workspace_root_gives_no_hint(bench):
    bench.put("AGENTS.md")
    bench.put("sub/x")
    for path in (".", "x", "sub/x", str(bench.workspace)):
        assert bench.touch(path) == "touched"


@pytest.mark.parametrize("content", ["", " \n\t\n", b"\xef\xbb\xbf\n", b"\x00\x01binary"])
def test_empty_hint_file_counts_as_absent(bench, content):
    bench.put("a/AGENTS.md", "ABOVE")
    bench.put("a/b/AGENTS.md", content)
    assert "ABOVE" in bench.touch("a/b/x")


def test_bytes_that_are_not_utf_8_are_replaced(bench):
    bench.put("sub/AGENTS.md", b"caf\xe9 \xff end")
    assert "caf\ufffd \ufffd end" in bench.touch("sub")
    bench.put("wide/AGENTS.md", "wide é".encode("utf-16"))
    assert ":\nwide é" in bench.touch("wide")


def test_long_hint_is_cut_with_a_note(make_bench):
    bench = make_bench(max_chars=500)
    bench.put("sub/AGENTS.md", "é" * 2_000)
    found = bench.touch("sub")
    kept = found.count("é")
    assert 400 <= kept < 500
    assert f"[… {2_000 - kept} characters left out" in found


def test_eight_thousand_code_points_are_not_cut(bench):
    bench.put("sub/AGENTS.md", "😀" * 8_000)
    assert bench.touch("sub").count("😀") == 8_000
    bench.put("more/AGENTS.md", "😀" * 8_001)
    assert bench.touch("more").count("😀") < 8_000


def test_one_call_gives_hints_of_several_folders(bench):
    bench.put("a/AGENTS.md", "FIRST")
    bench.put("b/AGENTS.md", "SECOND")
    found = bench.bash("diff a/x b/x")
    assert 0 < found.index("FIRST") < found.index("SECOND")


def test_hint_that_does_not_fit_is_given_at_the_next_touch(make_bench):
    bench = make_bench(max_chars=300)
    bench.put("a/AGENTS.md", "a" * 250)
    bench.put("b/AGENTS.md", "B" * 250)
    assert "B" * 250 not in bench.bash("diff a/x b/x")
    assert "B" * 250 in bench.touch("b")


def test_refused_hint_is_shown_as_blocked(bench):
    bench.put("sub/AGENTS.md", "POISON")
    bench.put("well/AGENTS.md", "GOOD")
    found = bench.bash("diff sub/x well/x")
    assert "[sub/AGENTS.md is blocked: sub/AGENTS.md is poison]" in found
    assert "POISON" not in found
    assert "GOOD" in found
    assert bench.touch("sub") == "touched"


def test_denied_call_gives_no_hint(bench):
    bench.put("sub/AGENTS.md")
    assert bench.run(calls("forbidden", path="sub")) == ["Denied: no"]
    assert "HINT" in bench.touch("sub")


# Once


def test_hint_is_given_once(bench):
    bench.put("sub/AGENTS.md")
    bench.put("sub/deep/x")
    assert "HINT" in bench.touch("sub")
    assert bench.touch("sub/deep/x") == "touched"
    assert bench.bash("cd sub && ls") == "ran"


def test_hint_is_given_once_among_parallel_calls(bench):
    bench.put("sub/AGENTS.md")
    found = bench.run(*(calls("touch", path=f"sub/{number}") for number in range(6)))
    assert [("HINT" in text) for text in found].count(True) == 1


def test_hint_is_not_repeated_after_a_restart(bench):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.touch("sub")
    bench.restart()
    assert bench.touch("sub") == "touched"


def test_other_session_gets_the_hint(bench):
    bench.put("sub/AGENTS.md")
    bench.touch("sub")
    bench.harness.model.steps += [calls("touch", path="sub"), "done"]
    other = bench.harness.send("go", session="other")
    assert "HINT" in other.tool_calls[0].text


def test_hint_is_given_again_after_undo(bench):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.touch("sub")
    bench.harness.send("/undo")
    assert "HINT" in bench.touch("sub")


def test_hint_is_given_again_after_compaction(bench):
    bench.put("sub/AGENTS.md")
    assert "HINT" in bench.touch("sub")
    assert bench.touch("sub") == "touched"
    bench.run(calls("compact"))
    assert "HINT" in bench.touch("sub")
    bench.restart()
    assert bench.touch("sub") == "touched"


def test_hint_is_given_again_after_compaction_in_the_same_turn(bench):
    bench.put("sub/AGENTS.md")
    again = calls("touch", path="sub")
    bench.harness.model.steps += [again, again, calls("compact"), again, again, "done"]
    found = [result.text for result in bench.harness.send("go").tool_calls]
    assert [("HINT" in text) for text in found] == [True, False, False, True, False]


def test_quoted_hint_does_not_suppress_the_hint(bench):
    bench.put("sub/AGENTS.md")
    bench.harness.model.steps += ["ok"]
    bench.harness.send("see:\nNote: Hints for sub/ from sub/AGENTS.md:\nnothing")
    assert "HINT" in bench.touch("sub")


# Hostile


WEIRD = [
    *("", " ", "\0", "a\nb", "\x1b[0m", "/etc/passwd", "../..", "~root/x", "//", "...", "CON"),
    *("x" * 5_000, "é" * 300, "\udc80", "sub\0/x", "https://x.test/sub/y", "a/" * 2_000),
]


@pytest.mark.parametrize("path", WEIRD)
def test_odd_paths_give_no_error(bench, path):
    bench.put("sub/AGENTS.md")
    assert bench.touch(path) == "touched"


@pytest.mark.parametrize("value", [["sub"], {"a": "sub"}, 7, None])
def test_arguments_that_are_not_strings_give_no_error(bench, value):
    bench.put("sub/AGENTS.md")
    assert bench.run(calls("anything", path=value)) == ["touched"]


def test_links_out_of_the_workspace_are_not_followed(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "AGENTS.md").write_text("LEAK")
    (bench.workspace / "door").symlink_to(outside)
    bench.put("sub/x")
    (bench.workspace / "sub" / "AGENTS.md").symlink_to(outside / "AGENTS.md")
    for path in ("door", "door/AGENTS.md", "sub/x", str(outside)):
        assert bench.touch(path) == "touched"


def test_secret_files_and_folders_are_not_read(bench):
    bench.put(".env", "LEAK")
    bench.put("sub/x")
    (bench.workspace / "sub" / "AGENTS.md").symlink_to(bench.workspace / ".env")
    bench.put(".ssh/AGENTS.md", "LEAK")
    assert bench.touch("sub/x") == "touched"
    assert bench.touch(".ssh/x") == "touched"
    assert bench.touch(".SSH/x") == "touched"


def test_circular_links_folders_and_pipes_are_skipped(bench):
    bench.put("a/CLAUDE.md", "STILL")
    (bench.workspace / "a/AGENTS.md").symlink_to("AGENTS.md")
    (bench.workspace / "loop").symlink_to("loop")
    bench.put("b/CLAUDE.md", "ALSO")
    (bench.workspace / "b/AGENTS.md").mkdir()
    bench.put("c/CLAUDE.md", "TOO")
    os.mkfifo(bench.workspace / "c/AGENTS.md")
    assert "STILL" in bench.touch("a")
    assert bench.touch("loop/x") == "touched"
    assert "ALSO" in bench.touch("b")
    assert "TOO" in bench.touch("c")


def test_link_inside_the_workspace_gives_the_hint_of_its_target(bench):
    bench.put("real/AGENTS.md")
    (bench.workspace / "alias").symlink_to("real")
    assert "Hints for real/ from real/AGENTS.md" in bench.touch("alias/x")
    assert bench.touch("real") == "touched"


def test_folder_with_a_name_outside_utf_8_gives_its_hint(bench):
    folder = Path(os.fsdecode(os.fsencode(bench.workspace) + b"/caf\xe9"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    (folder / "AGENTS.md").write_text("HINT")
    (folder / "link").mkdir()
    (bench.workspace / "alias").symlink_to(folder)
    assert "Hints for caf\ufffd/ from caf\ufffd/AGENTS.md:\nHINT" in bench.touch("alias/x")
    assert bench.touch("alias/x") == "touched"
