"""Notes on disk: edits by hand, encodings, unusable files."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st


def test_edit_by_hand_is_kept(memory: Any) -> None:
    memory.text("add", content="tea")
    memory.write(memory.notes.read_text("utf-8") + "§\nwritten by hand")
    memory.text("add", content="coffee")
    assert memory.entries() == ["tea", "written by hand", "coffee"]
    assert not memory.notes.with_name("MEMORY.md.bak").exists()


def test_notes_in_another_format_are_backed_up_before_a_write(memory: Any) -> None:
    text = "tea   \n\n\n§\n\n§\n  indented\n"
    memory.write(text)
    memory.text("add", content="coffee")
    assert memory.entries() == ["tea", "indented", "coffee"]
    assert memory.notes.with_name("MEMORY.md.bak").read_text("utf-8") == text


def test_windows_line_endings_and_bom_are_kept(memory: Any) -> None:
    memory.write(b"\xef\xbb\xbftea\r\n\xc2\xa7\r\nfirst\r\nsecond\r\n")
    prompt = memory.prompt()
    assert "tea\n§\nfirst\nsecond" in prompt
    assert "\ufeff" not in prompt
    memory.text("add", content="coffee")
    assert memory.notes.read_bytes() == (
        b"\xef\xbb\xbftea\r\n\xc2\xa7\r\nfirst\r\nsecond\r\n\xc2\xa7\r\ncoffee\r\n"
    )
    assert not memory.notes.with_name("MEMORY.md.bak").exists()


def test_empty_file_means_no_notes(memory: Any) -> None:
    for text in ("", "\n\n", "§\n§\n", "\ufeff"):
        memory.write(text)
        assert "Notes [" not in memory.prompt()
    memory.text("add", content="tea")
    assert memory.entries()[-1] == "tea"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"caf\xe9\n", "is not UTF-8 (byte 4)"),
        ("tea".encode("utf-16"), "is not UTF-8"),
        (b"a" * 1_000_001, "has more than 1,000,000 bytes"),
    ],
)
def test_unreadable_file_is_reported_and_left_alone(
    memory: Any, data: bytes, sentence: str
) -> None:
    memory.write(data)
    assert sentence in memory.error("add", content="tea")
    assert "Notes [" not in memory.prompt()
    assert any(sentence in notice.text for notice in memory.harness.notices)
    assert sentence in memory.harness.send("/memory").text
    (check,) = [one for plugin, one in memory.harness.checks() if plugin == "memory"]
    result = check.run()
    assert not result.ok
    assert sentence in result.detail
    assert memory.notes.read_bytes() == data


def test_folder_in_place_of_the_file_is_reported(memory: Any) -> None:
    memory.notes.mkdir(parents=True)
    assert "not a regular file" in memory.error("add", content="tea")
    assert "Notes [" not in memory.prompt()


def test_too_long_notes_are_cut_in_the_prompt_and_may_shrink(memory: Any) -> None:
    entries = [f"{number} {'x' * 300}" for number in range(10)]
    memory.write("\n§\n".join(entries))
    prompt = memory.prompt()
    assert "[138 % of 2,200 characters]" in prompt
    assert "[3 more notes do not fit" in prompt
    assert entries[6] in prompt
    assert entries[7] not in prompt
    assert "merge or remove" in memory.error("add", content="y")
    memory.text("remove", old_text="4 xxx")
    assert len(memory.entries()) == 9
    (check,) = [one for plugin, one in memory.harness.checks() if plugin == "memory"]
    assert check.run().hint


def test_too_long_entry_is_cut_in_the_prompt(memory: Any) -> None:
    memory.write("z" * 5_000)
    assert memory.prompt().count("z" * 100) == 22


def test_link_is_followed_and_stays_a_link(memory: Any, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "notes.md"
    real.parent.mkdir()
    real.write_text("tea\n", "utf-8")
    memory.notes.parent.mkdir(parents=True)
    memory.notes.symlink_to(real)
    memory.text("add", content="coffee")
    assert memory.notes.is_symlink()
    assert real.read_text("utf-8") == "tea\n§\ncoffee\n"


def test_notes_file_is_private(memory: Any) -> None:
    memory.text("add", content="tea")
    assert memory.notes.stat().st_mode & 0o777 == 0o600
    assert memory.notes.parent.stat().st_mode & 0o077 == 0


def test_edit_by_hand_during_a_write_is_kept(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.text("add", content="tea")
    from hookline_memory import note_changes

    edits = iter(["tea\n§\nby hand\n"])
    read_all = note_changes.read_all

    def slow(files: Any) -> Any:
        found = read_all(files)
        for text in edits:  # once: the editor saves after the plugin has read
            memory.write(text)
        return found

    monkeypatch.setattr(note_changes, "read_all", slow)
    memory.text("add", content="coffee")
    assert memory.entries() == ["tea", "by hand", "coffee"]


def test_full_disk_leaves_the_file_whole(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.text("add", content="tea")
    before = memory.notes.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    error = memory.error("add", content="coffee")
    assert "No space left on device" in error
    assert memory.notes.read_bytes() == before
    assert [path.name for path in memory.notes.parent.iterdir()] == ["MEMORY.md"]


def test_notes_are_rolled_back_if_facts_cannot_be_stored(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hookline_hookspecs import StoreError
    from hookline_memory.facts import FactWriter

    memory.text("add", content="tea")
    before = memory.notes.read_bytes()

    def fail(self: Any, fact: Any, most: int) -> str:
        raise StoreError("the disk is full")

    monkeypatch.setattr(FactWriter, "remember", fail)
    both = [{"action": "add", "content": "coffee"}, {"action": "remember", "content": "x y"}]
    assert "the disk is full" in memory.error("batch", operations=both)
    assert memory.notes.read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_memory import Memory

left = int(sys.argv[2])

def dying(real):
    def call(*args, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    return call

import hookline_hookspecs.chat_files.text_file as textfile
textfile.os.fsync = dying(os.fsync)
textfile.tempfile.mkstemp = dying(textfile.tempfile.mkstemp)
textfile.Path.replace = dying(Path.replace)
textfile.Path.chmod = dying(Path.chmod)
new = calls("memory", action="replace", old_text="old", content="new " * 400)
harness = Harness(Memory, home=Path(sys.argv[1]), model=[[new], "done"])
harness.send("go")
harness.close()
"""


@pytest.mark.slow
def test_kill_at_any_step_leaves_a_whole_file(tmp_path: Path) -> None:
    old, new = "old " * 400, "new " * 400
    seen = set()
    for step in range(1, 30):
        home = tmp_path / str(step)
        notes = home / "memories" / "MEMORY.md"
        notes.parent.mkdir(parents=True)
        notes.write_text(f"{old.strip()}\n", "utf-8")
        command = [sys.executable, "-c", textwrap.dedent(KILLED), str(home), str(step)]
        code = subprocess.run(command, capture_output=True).returncode
        text = notes.read_text("utf-8")
        assert text in (f"{old.strip()}\n", f"{new.strip()}\n")
        seen.add((code, text[:3]))
        if code == 0:
            break
    assert seen == {(-9, "old"), (-9, "new"), (0, "new")} or seen == {(-9, "old"), (0, "new")}


LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
ENTRIES = st.lists(st.lists(LINES, min_size=1, max_size=3).map("\n".join), max_size=6)


@given(ENTRIES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
def test_any_file_content_is_read_and_written_again(
    texts: list[str], newline: str, bom: bool, closed: bool
) -> None:
    from hookline_memory.notes import chars_of, keeps_all, parse

    text = "\n§\n".join(texts).replace("\n", newline) + (newline if closed else "")
    notes = parse(("\ufeff" if bom else "") + text)
    again = parse(notes.render())
    assert again.entries == notes.entries
    assert chars_of(notes.entries) == len("\n§\n".join(notes.entries))
    assert not any(line.strip() == "§" for entry in notes.entries for line in entry.split("\n"))
    words = [word for part in texts for word in part.split() if word not in ("§", "\ufeff")]
    kept = [word for entry in notes.entries for word in entry.split()]
    assert [w.strip("\ufeff") for w in kept] == [w.strip("\ufeff") for w in words if w != "§"]
    assert keeps_all(notes.render())


OPERATION = st.fixed_dictionaries(
    {"action": st.sampled_from(["add", "replace", "remove"])},
    optional={
        "content": st.text("ab §\n", min_size=1, max_size=30),
        "old_text": st.text("ab ", min_size=1, max_size=4),
    },
)


@pytest.mark.slow
@given(st.lists(st.lists(OPERATION, min_size=1, max_size=4), max_size=12))
@example([[{"action": "add", "content": "a"}, {"action": "add", "content": "a "}]])
def test_batches_never_exceed_the_limit_and_are_atomic(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[dict[str, str]]]
) -> None:
    from hookline_memory.errors import InvalidOperation
    from hookline_memory.note_changes import change_notes
    from hookline_memory.note_file import NoteFile
    from hookline_memory.notes import entry_of
    from hookline_memory.operations import parse

    folder = tmp_path_factory.mktemp("notes")
    file = NoteFile(folder / "MEMORY.md", "MEMORY.md")
    for batch in batches:
        before = file.read()
        try:
            asked: Any = parse({"action": "batch", "operations": batch})
            asked = [replace(o, content=entry_of(o.content)) if o.content else o for o in asked]
            change_notes([file], asked, 60, folder / "locks")
        except InvalidOperation:
            assert file.read() == before
        notes = file.read().notes
        assert notes.chars <= 60
        assert len(set(notes.entries)) == len(notes.entries)


ADDING = """
import sys
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_memory import Memory

name = sys.argv[2]
steps = [step for n in range(15) for step in
         ([calls("memory", action="add", content=f"{name} {n}")], "done")]
harness = Harness(Memory, home=Path(sys.argv[1]), model=steps)
for _ in range(15):
    (result,) = harness.send("go", session=name).tool_calls
    assert result.ok, result.text
harness.close()
"""


@pytest.mark.slow
def test_two_processes_keep_each_others_notes(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", ADDING, str(tmp_path), name]
        return subprocess.Popen(command, stderr=subprocess.PIPE)

    for process in [start(name) for name in ("one", "two")]:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    text = (tmp_path / "memories" / "MEMORY.md").read_text("utf-8")
    wanted = {f"{name} {n}" for name in ("one", "two") for n in range(15)}
    assert set(text.rstrip("\n").split("\n§\n")) == wanted
