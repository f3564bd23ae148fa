"""``@name`` without a kind: a file, a folder, a picture, or nothing."""

from __future__ import annotations

import asyncio
import base64
from types import SimpleNamespace

import pytest
from hookline_context_refs.bare_names import MAX_BARE_NAMES, resolve_bare_names
from hookline_context_refs.grammar import references
from hookline_hookspecs import ImageBlock

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def shelf(chat):
    """A chat with a file, a folder and a secret."""
    chat.put("src/app.py", "l1\nl2\nl3\n")
    chat.put("with spaces.md", "spaced")
    chat.put("odd:7", "odd")
    chat.put("my notes/a.txt", "a")
    chat.put(".env", "KEY=hunter2")
    return chat


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("@src/app.py", "l1\nl2\nl3\n"),
        ("@./src/app.py", "l1\nl2\nl3\n"),
        ("@src/app.py:2-3", "l2\nl3"),
        ("@src/app.py:2", "l2"),
        ('@"with spaces.md"', "spaced"),
        ("@odd:7", "odd"),
        ("@src", "app.py"),
        ("@src/", "app.py"),
        ('@"my notes/"', "a.txt"),
    ],
)
def test_existing_path_is_attached(shelf, reference, expected):
    turn = shelf(f"what is in ({reference})?")
    assert turn.items == {reference: expected}
    assert turn.warnings == []


@pytest.mark.parametrize(
    "text",
    [
        "mail me@src.com or me@src",
        "@alice, does @property or @app.route matter?",
        "@types/node and @/components/Button.tsx are names",
        "@SRC/none",
    ],
)
def test_unknown_name_is_no_reference(shelf, text):
    turn = shelf(text)
    assert turn.context == ""
    assert turn.notices == []


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("看@src/app.py的问题", "@src/app.py"),
        ("看看@src/app.py，谢谢", "@src/app.py"),
        ("`@src/app.py` is broken", "@src/app.py"),
        ('"@src/app.py" is broken', "@src/app.py"),
        ("@src/app.py's first line", "@src/app.py"),
        ("@src/app.py’s first line", "@src/app.py"),
        ("(@src/app.py)", "@src/app.py"),
        ("**@src/app.py**: why?", "@src/app.py"),
        ("@src/app.py를 봐", "@src/app.py"),
        ("@file:src/app.pyを見て", "@file:src/app.py"),
        ("`@file:src/app.py:2`", "@file:src/app.py:2"),
        ("看@说明.md的第二行", "@说明.md"),
        ("@说明.md的第二行.md", "@说明.md的第二行.md"),
        ("<@src/app.py>", "@src/app.py"),
        ("why—@src/app.py—at all", "@src/app.py"),
        ("_@src/app.py_ and", "@src/app.py"),
        ("~~@src/app.py~~", "@src/app.py"),
        ("🔥@src/app.py🔥", "@src/app.py"),
        ("•@src/app.py", "@src/app.py"),
        ("a/@x @src/app.py=1", "@src/app.py"),
        ("see @src/app.py—the second line", "@src/app.py"),
        ("@src/app.py#main", "@src/app.py"),
        ("@src/app.py::test_one", "@src/app.py"),
        ("@src/app.py:main()", "@src/app.py"),
        ("@<src/app.py>", "@<src/app.py"),
        ("@(src/app.py)", "@(src/app.py"),
        ("@src\\app.py", "@src\\app.py"),
    ],
)
def test_reference_within_a_sentence_is_attached(shelf, text, reference):
    shelf.put("说明.md", "文")
    shelf.put("说明.md的第二行.md", "长")
    turn = shelf(text)
    assert list(turn.items) == [reference.replace("@<", "@").replace("@(", "@")]
    assert turn.warnings == []


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("@src/app.py#L2", "l2"),
        ("@src/app.py#L1-L2", "l1\nl2"),
        ("@src/app.py#L1-2", "l1\nl2"),
        ("@src/app.py#2", "l2"),
        ("@src/app.py#L1C2-L2C3", "l1\nl2"),
        ("@src/app.py:2:5", "l2"),
        ("@src/app.py:L2", "l2"),
        ("@src/app.py:1..2", "l1\nl2"),
        ("@src/app.py:2–3", "l2\nl3"),
        ("@file:src/app.py#L2", "l2"),
        ("@src\\app.py:2", "l2"),
    ],
)
def test_lines_are_attached_however_they_are_written(shelf, reference, expected):
    for text in (
        reference,
        f"What does {reference}, do?",
        f"看{reference}的问题",
        f"<{reference}>",
    ):
        turn = shelf(text)
        assert turn.items == {reference: expected}
        assert turn.warnings == turn.notices == []


@pytest.mark.parametrize(
    "reference",
    [
        "@with\\ spaces.md",
        "@'with spaces.md'",
        "@`with spaces.md`",
        "@“with spaces.md”",
        "@file:with\\ spaces.md",
    ],
)
def test_name_with_spaces_is_attached(shelf, reference):
    turn = shelf(f"read {reference}, please")
    assert turn.items == {reference: "spaced"}
    assert turn.warnings == turn.notices == []


@pytest.mark.parametrize("between", [",", ", ", "和", "|", "+", ") (", "、"])
def test_references_in_a_row_are_all_attached(shelf, between):
    shelf.put("b.py", "b")
    turn = shelf(f"(@src/app.py{between}@b.py)")
    assert list(turn.items) == ["@src/app.py", "@b.py"]


def test_file_of_the_home_folder_is_refused_with_a_reason(shelf, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes.txt").write_text("private")
    turn = shelf("read @~/notes.txt and @~/gone.txt and @~/gone")
    assert turn.items == {}
    [warning] = turn.warnings
    assert "@~/notes.txt is not attached" in warning
    assert [n for n in turn.notices if "gone" in n] == [
        "There is no file ~/gone.txt in the workspace.",
        "There is no file ~/gone in the workspace.",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("look at @File:src/app.py", "@File:src/app.py is not attached. Did you mean @file:?"),
        ("@foler:src", "@foler:src is not attached. Did you mean @folder:?"),
        ("看@src/ap.py的问题", "There is no file src/ap.py in the workspace."),
        ("<@src/ap.py>", "There is no file src/ap.py in the workspace."),
        ("—@src/ap.py—", "There is no file src/ap.py in the workspace."),
        ("@src/ap.py#L1", "There is no file src/ap.py in the workspace."),
        ("@Makefile:10-20", "There is no file Makefile in the workspace."),
        ("@../nothing-there", "There is no file ../nothing-there in the workspace."),
        ("@./nothing-there", "There is no file ./nothing-there in the workspace."),
        ("@no\\ such.py", "There is no file no such.py in the workspace."),
        ("@'no such.py'", "There is no file no such.py in the workspace."),
        ("@main.dart", "There is no file main.dart in the workspace."),
    ],
)
def test_what_only_looks_like_a_reference_is_told_to_the_person(shelf, text, says):
    turn = shelf(text)
    assert turn.items == {}
    assert turn.notices == [says]


def test_missing_file_is_reported(shelf):
    turn = shelf("@src/gone.py:1-2 and @alice and @src/app.py?")
    assert turn.notices == ["There is no file src/gone.py in the workspace."]
    assert turn.told == ["Attached: src/app.py (3 lines)"]


def test_existing_file_makes_a_word_a_reference(chat):
    chat.put("property", "text")
    assert chat("@property").items == {"@property": "text"}


def test_bare_and_file_reference_attach_once(shelf):
    assert list(shelf("@src/app.py and @file:src/app.py").items) == ["@src/app.py"]


def test_reversed_range_is_reported(shelf):
    turn = shelf("@src/app.py:3-1")
    assert turn.items == {}
    assert "ends before it begins" in turn.warnings[0]


@pytest.mark.parametrize("reference", ["@.env", "@link.txt", "@../outside.txt", "@{outside}"])
def test_forbidden_file_is_refused_with_a_warning(shelf, tmp_path, reference):
    outside = tmp_path / "outside.txt"
    outside.write_text("private")
    (shelf.workspace / "link.txt").symlink_to(outside)
    turn = shelf(reference.format(outside=outside))
    assert turn.items == {}
    assert len(turn.warnings) == 1
    assert "private" not in turn.context
    assert "hunter2" not in turn.context


def test_existence_of_outside_files_is_shown_to_the_operator_only(shelf, tmp_path):
    (tmp_path / "outside.txt").touch()

    class Paths(SimpleNamespace):
        def resolve(self, path):
            raise PermissionError(path)

    paths = Paths(workspace=shelf.workspace)
    found = references("@../outside.txt @.env")
    for_others = asyncio.run(resolve_bare_names(found, paths, operator=False))
    assert [one.value for one in for_others] == [".env"]
    assert len(asyncio.run(resolve_bare_names(found, paths, operator=True))) == 2


def test_many_at_signs_do_not_hide_a_file(shelf):
    text = " ".join(f"@name{n}" for n in range(MAX_BARE_NAMES - 1))
    assert list(shelf(f"{text} @src/app.py").items) == ["@src/app.py"]


@pytest.mark.parametrize("reference", ["@shots/a.png", "@file:shots/a.png", '@"shots/a b.PNG"'])
def test_picture_is_attached_to_the_message(chat, reference):
    chat.put("shots/a.png", PNG)
    chat.put("shots/a b.PNG", PNG)
    turn = chat(f"what is on {reference}?")
    blocks = chat.harness.model.last.messages[-1].blocks
    assert [base64.b64decode(b.data) for b in blocks if isinstance(b, ImageBlock)] == [PNG]
    assert list(turn.items) == [reference]
    assert "attached to the message" in turn.items[reference]
    assert turn.warnings == []


def test_file_with_a_picture_suffix_only_is_not_attached(chat):
    chat.put("a.png", b"\0\1\2")
    turn = chat("@a.png and @gone.png")
    assert turn.items == {}
    assert len(turn.warnings) == 1
    assert not any(isinstance(b, ImageBlock) for b in chat.harness.model.last.messages[-1].blocks)


def test_picture_is_attached_once(chat):
    chat.put("a.png", PNG)
    chat("@a.png @file:a.png @./a.png")
    blocks = chat.harness.model.last.messages[-1].blocks
    assert sum(isinstance(b, ImageBlock) for b in blocks) == 1
