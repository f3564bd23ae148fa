"""Unchanged text stays as it is stored; added text is indented like its surroundings."""

from __future__ import annotations

import pytest
from hookline_textmatch import replace

METHOD = "class A:\n    def f(self):\n        return 1\n\n    x = 2\n"


def test_added_function_stays_in_its_class():
    new = "def f(self):\n    if self.x:\n        return 2\n    return 1\n\ndef g(self):\n    pass\n"
    assert replace(METHOD, "def f(self):\n    return 1\n", new).text == (
        "class A:\n    def f(self):\n        if self.x:\n            return 2\n"
        "        return 1\n\n    def g(self):\n        pass\n\n    x = 2\n"
    )


def test_line_shallower_than_old_string_keeps_its_relative_indent():
    edit = replace(METHOD, "    return 1\n    \n", "    return 1\n\ndef g(self):\n    pass\n    \n")
    assert "\n        return 1\n\n    def g(self):\n        pass\n" in edit.text


@pytest.mark.parametrize("level", ["\t", "  ", "    ", "   "])
@pytest.mark.parametrize("model", ["\t", "  ", "    "])
def test_indent_levels_follow_the_text(level, model):
    def indented(lines: str, unit: str) -> str:
        return lines.replace(">", unit)

    text = indented(">if a:\n>>b()\n>c()\n", level)
    old = indented(">if a:\n>>b() \n", model)
    new = indented(">if a:\n>>b() \n>>if d:\n>>>e()\n>f()\n", model)
    wanted = indented(">if a:\n>>b()\n>>if d:\n>>>e()\n>f()\n>c()\n", level)
    assert replace(text, old, new).text == wanted


def test_indent_of_a_single_line_follows_the_rest_of_the_text():
    text = "def f():\n\tif x:\n\t\treturn  1\n"
    edit = replace(text, "    return 1\n", "    while y:\n        return 1\n")
    assert edit.text == "def f():\n\tif x:\n\t\twhile y:\n\t\t\treturn  1\n"


def test_equal_indentation_is_left_to_the_model():
    edit = replace("\ta  = 1\n", "\ta = 1\n", "\ta = 1\n    b = 2\n")
    assert edit.text == "\ta  = 1\n    b = 2\n"


def test_mixed_line_endings_are_kept():
    text = "a  = 1\r\nb  = 2\nc  = 3\r\nd  = 4\r\n"
    edit = replace(text, "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nnew\nc = 3\n")
    assert edit.text == "a  = 1\r\nb  = 5\nnew\r\nc  = 3\r\nd  = 4\r\n"


def test_exact_edit_keeps_mixed_line_endings():
    edit = replace("  a\r\nb \nc\r\n", "  a\nb \nc\n", "    a\nb\nc\nd\n")
    assert edit.text == "    a\r\nb\nc\r\nd\r\n"


def test_old_mac_line_endings_are_kept():
    assert replace("  a\r  b\r", "a\nb\n", "a\nc\nd\n").text == "  a\r  c\r  d\r"


def test_typography_outside_the_changed_words_is_kept():
    text = "| “one”   |  1…2 |\t— yes\r\n| ‘two’ |\r\n"
    edit = replace(text, "| \"one\" | 1...2 | -- yes\n| 'two' |\n", '| "uno" | 1...2 | -- yes\n')
    assert edit.text == "| “uno”   |  1…2 |\t— yes\r\n"


def test_trailing_whitespace_is_kept_unless_it_is_the_edit():
    assert replace("a b  \nc\n", "a b\nc\n", "a d\nc\n").text == "a d  \nc\n"
    assert replace("a\nb\t", "a\nb \n", "a\nb\n").text == "a\nb"


def test_moved_lines_keep_their_indentation():
    edit = replace("\tone\n\ttwo\n\tthree\n", "one\ntwo\nthree\n", "one\nthree\ntwo\n")
    assert edit.text == "\tone\n\tthree\n\ttwo\n"


def test_removed_passage_leaves_no_rest():
    assert replace("a\n    b  c\n    d\ne\n", "b c\nd\n", "").text == "a\ne\n"


def test_match_at_text_end_without_newline_adds_none():
    assert replace("a\n\tb", "a\n b\n", "a\n b\n c\n").text == "a\n\tb\n\tc"


def test_replace_all_indents_each_place_separately():
    text = "x:\n  a  b\ny:\n      a   b\n"
    edit = replace(text, "a b\n", "a b\nc\n", replace_all=True)
    assert edit.text == "x:\n  a  b\n  c\ny:\n      a   b\n      c\n"


def test_multibyte_characters_are_never_cut():
    text = "“𝒜…” → 日本語 😀 naïve\n"
    edit = replace(text, '"𝒜..." → 日本語 😀', '"𝒜..." → 中文 😀')
    assert edit.text == "“𝒜…” → 中文 😀 naïve\n"
