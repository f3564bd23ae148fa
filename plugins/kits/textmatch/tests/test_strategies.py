"""Each strategy finds what no earlier one can, and the result names it."""

from __future__ import annotations

import pytest
from hookline_textmatch import NoMatch, replace

FOUND = {
    "exact": [("one two three", "two", "2", "one 2 three"), ("a\r\nb\r\n", "a\nb", "c", "c\r\n")],
    "line_trimmed": [
        (
            "    a = 1  \n    b = 2\n",
            "a = 1\nb = 2\n",
            "a = 1\nb = 3\n",
            "    a = 1  \n    b = 3\n",
        ),
        ("\tif x:\n\t\ty()\n", "if x:\n    y()", "if x:\n    z()", "\tif x:\n\t\tz()\n"),
        ("a\nb", "a\nb\n", "a\nc\n", "a\nc"),
        ("a\n   \nb\n", "a\n\nb\n", "a\n\nc\n", "a\n   \nc\n"),
    ],
    "whitespace_normalized": [
        ("x  =\t1  # one\n", "x = 1", "x = 2", "x  =\t2  # one\n"),
        ("f(a,  b) + g", "f(a, b)", "f(a, c)", "f(a,  c) + g"),
        ("  k:   v  \n  l:  w\n", "k: v\n l: w", "k: v\n l: z", "  k:   v  \n  l:  z\n"),
    ],
    "indentation_flexible": [
        (
            "def f():\n    a  = 1\n    b  = 2\n",
            "a = 1\nb = 2\n",
            "a = 1\nb = 3\n",
            "def f():\n    a  = 1\n    b  = 3\n",
        ),
        (
            "        x = 1\n        y = 2  # kept\n",
            "x = 1\ny = 2",
            "x = 1\nz = 9\ny = 3",
            "        x = 1\n        z = 9\n        y = 3  # kept\n",
        ),
    ],
    "escape_normalized": [
        ("a\n\tb\n", "a\\n\\tb", "a\\n\\tc", "a\n\tc\n"),
        ("say('hi')\n", "say(\\'hi\\')", "say('ho')", "say('ho')\n"),
        ("a\r\nb\r\n", "a\\r\\nb", "a\\r\\nc", "a\r\nc\r\n"),
        ('re.sub(r"\\n", "")\nx\n', 're.sub(r\\"\\\\n\\", \\"\\")', "gone", "gone\nx\n"),
    ],
    "trimmed_boundary": [
        ("call(a, b)\nend\n", "\n\n  call(a, b)\n\n", "\n\n  call(a, c)\n\n", "call(a, c)\nend\n"),
        ("x = (a + b)\n", " a + b ", " a - b ", "x = (a - b)\n"),
        ("    a\n    b\nc\n", "\n    a\n    b\n\n\n", "\n    z\n\n\n", "    z\nc\n"),
    ],
    "unicode_normalized": [
        ("“So—it is…”\n", '"So--it is..."', '"So--it was..."', "“So—it was…”\n"),
        ("pages 3–5, 7—9\n", "3-5, 7-9", "3-6, 7-9", "pages 3–6, 7—9\n"),
        ("don’t  \n", "don't", "do", "do  \n"),
        ("straight 'quotes'\n", "‘quotes’", "words", "straight words\n"),
        (
            "10\u00a0kg of cafe\u0301\n",
            "10 kg of café",
            "12 kg of café",
            "12\u00a0kg of cafe\u0301\n",
        ),
        ("  “a”\n  “b”\n", '"a"\n"b"\n', '"a"\n"c"\n', "  “a”\n  “c”\n"),
        ("zero\u200bwidth x\n", "zerowidth x", "zerowidth y", "zero\u200bwidth y\n"),
    ],
    "block_anchor": [
        (
            "def f():\n    total = add(1, 2)\n    show(total)\n    return total\n",
            "def f():\n    total = add(1, 3)\n    show(total)\n    return total\n",
            "def f():\n    total = add(1, 3)\n    show(total, 5)\n    return total\n",
            "def f():\n    total = add(1, 2)\n    show(total, 5)\n    return total\n",
        ),
        (
            "\tbegin\r\n\t\tput(“a”, 1)\r\n\tend\r\n",
            'begin\n  put("b", 2)\nend\n',
            'begin\n  put("b", 3)\n  more\nend\n',
            '\tbegin\r\n\t\tput("b", 3)\r\n\t\tmore\r\n\tend\r\n',
        ),
    ],
}
CASES = [(strategy, *case) for strategy, cases in FOUND.items() for case in cases]


@pytest.mark.parametrize(("strategy", "text", "old", "new", "result"), CASES)
def test_each_strategy_finds_what_earlier_ones_cannot(strategy, text, old, new, result):
    edit = replace(text, old, new)
    assert (edit.text, edit.count, edit.strategy) == (result, 1, strategy)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("foobar\n", "foo bar"),
        ("foo bar\n", "foobar"),
        ("a+b\n", "a + b"),
        ("max  = 1\n", "x = 1"),
        ("x  = 10\n", "x = 1"),
        ("one two\n", "one\ntwo"),
        ("one\ntwo\n", "one two"),
        ("\u00e9t\u00e9  x\n", "t\u00e9 x"),
    ],
)
def test_match_never_joins_cuts_or_splits_words(text, old):
    with pytest.raises(NoMatch):
        replace(text, old, "y")


def test_text_without_spaces_matches_inside_a_run():
    assert replace("前日本  語後", "日本 語", "言葉").text == "前言葉後"


@pytest.mark.parametrize("dash", ["-", "--", "---"])
def test_em_dash_matches_one_two_or_three_hyphens(dash):
    assert replace("this — that", f"this {dash} that", f"this {dash} these").text == "this — these"


def test_one_hyphen_does_not_match_two():
    with pytest.raises(NoMatch):
        replace("run --flag “x”", "run -flag", "y")


def test_match_never_starts_within_a_character():
    with pytest.raises(NoMatch):
        replace("wait… “x”", "wait.", "y")


def test_only_block_matches_from_50_percent_similarity():
    block = "start\nabcdefgh\nend\n"
    assert replace(block, "start\nabcdwxyz\nend\n", "start\nabcd\nend\n").strategy == "block_anchor"
    with pytest.raises(NoMatch):
        replace(block, "start\nabcuvwxyz\nend\n", "start\nabc\nend\n")


def test_block_with_shared_anchors_matches_from_70_percent_similarity():
    other = "start\n0123456789\nend\n"
    close, far = "start\nabcdefgXYZ\nend\n", "start\nabcdefWXYZ\nend\n"
    text = f"start\nabcdefghij\nend\n{other}"
    new = "start\nnew abcdefghij\nend\n"
    assert replace(text, close, new).text == new + other
    with pytest.raises(NoMatch):
        replace(text, far, new)


@pytest.mark.parametrize("old", ["\nmiddle x\n\n", "  \nmiddle x\nend", "start\nmiddle x\n\t"])
def test_whitespace_anchor_never_matches(old):
    with pytest.raises(NoMatch):
        replace("\nmiddle y\n\n  \nmiddle y\nend\nstart\nmiddle y\n\t", old, "z")


def test_strictest_matching_strategy_is_used():
    edit = replace("a  b\na b\n", "a b", "c")
    assert (edit.text, edit.strategy) == ("a  b\nc\n", "exact")
    edit = replace("a  b # c\n  a  b\n", "a  b\n", "x\n")
    assert (edit.text, edit.strategy) == ("a  b # c\n  x\n", "exact")
