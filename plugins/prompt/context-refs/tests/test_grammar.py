"""Which parts of a text are references."""

from __future__ import annotations

import pytest
from hookline_context_refs.grammar import references
from hypothesis import given
from hypothesis import strategies as st


def read(text):
    """The references with a kind (not bare names)."""
    found = [one for one in references(text) if one.kind != "bare"]
    return [(one.kind, one.value, one.lines) for one in found]


def read_bare(text):
    found = [one for one in references(text) if one.kind == "bare"]
    return [(one.value, one.lines, one.whole) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@file:a.py", ("file", "a.py", None)),
        ("look at @file:a.py, please", ("file", "a.py", None)),
        ("(@file:a.py)", ("file", "a.py", None)),
        ("[@file:a.py]!?", ("file", "a.py", None)),
        ("{@file:a.py};", ("file", "a.py", None)),
        ("see @file:a.py:", ("file", "a.py", None)),
        ("@file:a.py...", ("file", "a.py", None)),
        ("x\r\n@file:a.py\r\ny", ("file", "a.py", None)),
        ("x\u3000@file:说明.md\u3000y", ("file", "说明.md", None)),
        ("请看（@file:说明.md）。", ("file", "说明.md", None)),
        ("\ufeff@file:a.py", ("file", "a.py", None)),
        ('"@file:a.py"', ("file", "a.py", None)),
        ("`@file:a.py`", ("file", "a.py", None)),
        ("看@file:a.py", ("file", "a.py", None)),
        ("看@diff的内容", ("diff", "", None)),
        ("`@diff`", ("diff", "", None)),
        ("看@git:3的提交", ("git", "3", None)),
        ("（@url:https://example.org/a，请看", ("url", "https://example.org/a", None)),
        ("@file:a.py:10", ("file", "a.py", (10, 10))),
        ("@file:a.py:10-20.", ("file", "a.py", (10, 20))),
        ("@file:a.py:10:20", ("file", "a.py:10", (20, 20))),
        ("@file:a.py:main", ("file", "a.py:main", None)),
        ("@file:a.py:١", ("file", "a.py:١", None)),
        ('@file:"with spaces.md"', ("file", "with spaces.md", None)),
        ('(@file:"with spaces.md":3-4)', ("file", "with spaces.md", (3, 4))),
        ('@file:"with spaces.md": what is it?', ("file", "with spaces.md", None)),
        ('@file:"a:10"', ("file", "a:10", None)),
        ('@file:"unclosed name', ("file", '"unclosed', None)),
        ("@folder:src/", ("folder", "src/", None)),
        ("@folder:.", ("folder", ".", None)),
        ("@folder:./src.", ("folder", "./src", None)),
        ("@folder:..", ("folder", "..", None)),
        ("@diff", ("diff", "", None)),
        ("what is in @diff?", ("diff", "", None)),
        ("(@staged)", ("staged", "", None)),
        ("@git:3", ("git", "3", None)),
        ("@git:007,", ("git", "7", None)),
        ("@url:https://example.org/a?b=c:1.", ("url", "https://example.org/a?b=c:1", None)),
        ("@url:HTTP://example.org", ("url", "HTTP://example.org", None)),
    ],
)
def test_text_is_a_reference(text, expected):
    assert read(text) == [expected]
    assert references(text)[0].problem == ""


@pytest.mark.parametrize(
    "text",
    [
        "me@file.com",
        "me@file:a.py",
        "a@diff b",
        "/@file:a.py",
        "@@file:a.py",
        "@File:a.py",
        "@FILE:a.py",
        "@DIFF",
        "@file a.py",
        "@ file:a.py",
        "@files:a.py",
        "@diffs",
        "@diff-tool",
        "@diff:x",
        "@staged/x",
        "@git",
        "@other:a.py",
        "@",
        "",
    ],
)
def test_text_is_no_reference(text):
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "@file:",
        "@file: a.py",
        '@file:""',
        "@folder:,",
        "@url:",
        "@file:a.py:0",
        "@file:a.py:0-3",
        "@file:a.py:20-10",
        "@file:a.py:10-",
        "@file:a.py:-10",
        "@file:a.py:-",
        f"@file:a.py:2-{'0' * 5000}1",
        "@git:",
        "@git:0",
        "@git:1001",
        "@git:HEAD",
        "@git:-1",
        f"@git:{'9' * 5000}",
        "@url:example.org",
        "@url:file:///etc/passwd",
    ],
)
def test_invalid_reference_says_why(text):
    (one,) = references(text)
    assert one.problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@src/app.py", ("src/app.py", None, "")),
        ("look at @src/app.py, please", ("src/app.py", None, "")),
        ("(@src/app.py)", ("src/app.py", None, "")),
        ("@src/app.py:10-20.", ("src/app.py", (10, 20), "src/app.py:10-20")),
        ("@app.py:7", ("app.py", (7, 7), "app.py:7")),
        ("@docs/", ("docs/", None, "")),
        ("@./docs?", ("./docs", None, "")),
        ("@.env", (".env", None, "")),
        ("@git", ("git", None, "")),
        ("@diff-tool", ("diff-tool", None, "")),
        ("@File:a.py", ("File:a.py", None, "")),
        ("@file", ("file", None, "")),
        ("@说明.md", ("说明.md", None, "")),
        ('@"with spaces.md"', ("with spaces.md", None, "")),
        ('(@"with spaces.md":3-4)', ("with spaces.md", (3, 4), "")),
        ('@"a:10"', ("a:10", None, "")),
    ],
)
def test_bare_name_may_be_a_reference(text, expected):
    assert read_bare(text) == [expected]
    assert read(text) == []


@pytest.mark.parametrize(
    "text", ["me@file.com", "@", "@...", "@/", "@~", '@""', "@@", "@file:a", "a@b.py"]
)
def test_text_is_no_bare_name(text):
    assert read_bare(text) == []


def test_line_number_with_thousands_of_digits_is_accepted():
    (one,) = references(f"@file:a.py:1-{'9' * 5000}")
    assert one.lines is not None
    assert one.lines[0] == 1
    assert one.lines[1] >= 10**9
    assert not one.problem


def test_repeated_reference_is_read_once():
    assert read("@file:a @diff @file:a, (@diff) @file:a:1 @file:a:1-1") == [
        ("file", "a", None),
        ("diff", "", None),
        ("file", "a", (1, 1)),
    ]


WORD = st.text(st.characters(exclude_characters='@"', exclude_categories=["Cs"]), max_size=12)
NAMES = st.text("abcXYZ019_-/é文.", min_size=1, max_size=15).map(lambda n: f"{n}x")
BEFORE = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\u3000", " (", " [", "\n{", " (["])
AFTER = st.text(",.;:!?)]}", max_size=4)


@st.composite
def _reference(draw):
    name = draw(NAMES)
    kind = draw(st.sampled_from(["file", "folder", "url", "git", "diff", "staged", "quoted"]))
    if kind in ("diff", "staged"):
        return f"@{kind}", (kind, "", None)
    if kind == "git":
        number = draw(st.integers(1, 1000))
        return f"@git:{number}", ("git", str(number), None)
    if kind == "url":
        return f"@url:https://{name}", ("url", f"https://{name}", None)
    if kind == "folder":
        return f"@folder:{name}", ("folder", name, None)
    spaced = f"{name} {draw(NAMES)}" if kind == "quoted" else name
    written = f'@file:"{spaced}"' if kind == "quoted" else f"@file:{spaced}"
    if draw(st.booleans()):
        first = draw(st.integers(1, 10**6))
        last = first + draw(st.integers(0, 10**6))
        return f"{written}:{first}-{last}", ("file", spaced, (first, last))
    return written, ("file", spaced, None)


@given(st.lists(st.tuples(WORD, BEFORE, _reference(), AFTER), max_size=6), WORD)
def test_references_are_found_anywhere_in_a_text(parts, end):
    text, expected = "", []
    for number, (word, before, (written, meaning), after) in enumerate(parts):
        before = before if text == "" and not word and number == 0 else f" {before}"
        text += f"{word}{before}{written}{after} "
        expected.append(meaning)
    assert read(text + end) == list(dict.fromkeys(expected))


HOSTILE = st.sampled_from(
    [
        "@",
        "@file:",
        "@folder:",
        "@url:",
        "@git:",
        "@diff",
        "@staged",
        '@"',
        *'"a1:-.,!?()[]{} \0\r\n\ufeff文',
    ]
)


@given(st.lists(HOSTILE, max_size=25).map("".join))
def test_found_reference_parses_the_same_on_its_own(text):
    for one in references(text):
        assert one.raw in text
        again = references(one.raw)
        assert [(a.kind, a.value, a.lines, a.problem, a.whole) for a in again] == [
            (one.kind, one.value, one.lines, one.problem, one.whole)
        ]


@given(WORD, BEFORE, NAMES, st.integers(1, 99), st.booleans(), AFTER)
def test_bare_path_is_found_anywhere_in_a_text(word, before, name, line, quoted, after):
    name = f"{name} {name}" if quoted else name
    written = f'@"{name}"' if quoted else f"@{name}"
    whole = "" if quoted else f"{name}:{line}-99"
    text = f"{word} {before}{written}:{line}-99{after} end"
    assert read_bare(text) == [(name, (line, 99), whole)]


@given(WORD, NAMES, st.sampled_from("abzé09/.@\0\u200b"))
def test_reference_does_not_begin_within_a_word(word, name, glued):
    assert read(f"{word}{glued}@file:{name}") == []
    assert read_bare(f"{word}{glued}@{name}") == []


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text):
    references(text)


@pytest.mark.parametrize(
    "piece",
    [
        '@file:"',
        ' @file:"',
        ' @"',
        *(
            pytest.param(piece, marks=pytest.mark.slow)
            for piece in (" @a:1", "(@file:", "@", " @diff", "@file:a:1", ":1", "[", "\0")
        ),
        " @file:a:1-",
    ],
)
@pytest.mark.slow
def test_very_long_texts_are_parsed_quickly(piece):
    references(piece * 200_000)
    references("@file:" + piece * 200_000)
    references('@file:"' + piece * 200_000)
