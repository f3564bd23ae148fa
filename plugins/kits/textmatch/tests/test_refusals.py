"""Refused edits: the reason, the count, the lines, the nearest text."""

from __future__ import annotations

import pytest
from hookline_textmatch import Ambiguous, EditError, NoMatch, NothingToDo, Unsafe, replace


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "x", "old_string is empty"),
        ("a", "a", "are the same"),
        ("a\r\n", "a\n", "are the same"),
        (" \n\t", "x", "only white space"),
        ("\u00a0", "x", "only white space"),
    ],
)
def test_empty_or_equal_strings_are_refused(old, new, says):
    with pytest.raises(NothingToDo, match=says):
        replace("a\n \n\t\u00a0", old, new)


def test_edit_without_change_is_refused():
    with pytest.raises(NothingToDo, match=r"f.py already has new_string"):
        replace("a\nb\n", "a \nb\n", "a\nb\n", name="f.py")


AMBIGUOUS = {
    "exact": ("x\r\ny\r\nx\r\n", "x", [1, 3]),
    "line_trimmed": ("  a\n  b\n\n a\n b\n", "a\nb\n", [1, 4]),
    "whitespace_normalized": ("a  b\nc\na   b\n", "a b", [1, 3]),
    "indentation_flexible": (" a  b\n c\n\n\n a   b\n c\n", "a b\nc", [1, 5]),
    "escape_normalized": ("a\tb\n\na\tb", "a\\tb", [1, 3]),
    "trimmed_boundary": ("(a)\n(a)\n", " a ", [1, 2]),
    "unicode_normalized": ("“a”\n\n“a”", '"a"', [1, 3]),
    "block_anchor": ("s\nabcdefghij\ne\ns\nabcdefghik\ne\n", "s\nabcdefghil\ne\n", [1, 4]),
}
OFFERED = {"exact", "line_trimmed", "whitespace_normalized", "indentation_flexible"}
OFFERED |= {"trimmed_boundary"}


@pytest.mark.parametrize("strategy", AMBIGUOUS)
def test_ambiguous_edit_is_refused_with_count_and_lines(strategy):
    text, old, lines = AMBIGUOUS[strategy]
    with pytest.raises(Ambiguous) as error:
        replace(text, old, "new", name="f.py")
    assert (error.value.count, list(error.value.lines)) == (2, lines)
    sentence = str(error.value)
    assert "occurs 2 times in f.py" in sentence
    assert f"lines {lines[0]}, {lines[1]}" in sentence
    assert (strategy in sentence) == (strategy != "exact")
    assert ("replace_all" in sentence) == (strategy in OFFERED)


@pytest.mark.parametrize("strategy", sorted(OFFERED))
def test_replace_all_accepts_whitespace_differences(strategy):
    text, old, _ = AMBIGUOUS[strategy]
    edit = replace(text, old, old.replace("a", "z").replace("x", "z"), replace_all=True)
    assert (edit.count, edit.strategy) == (2, strategy)
    assert edit.text == text.replace("a", "z").replace("x", "z")


@pytest.mark.parametrize("strategy", sorted(set(AMBIGUOUS) - OFFERED))
def test_replace_all_refuses_merely_similar_places(strategy):
    text, old, _ = AMBIGUOUS[strategy]
    with pytest.raises(EditError, match=strategy):
        replace(text, old, "new", replace_all=True)
    single = text[: text.rindex(text[0])]
    with pytest.raises(Unsafe, match=rf"replace_all needs old_string as it is in.*{strategy}"):
        replace(single, old, "new", replace_all=True)


def test_ambiguous_edit_names_at_most_10_lines():
    with pytest.raises(Ambiguous, match=r"40 times in the text \(lines 1, 2, .*, 10, …\)"):
        replace("x\n" * 40, "x", "y")


@pytest.mark.parametrize("stray", ["\\'", '\\"'])
@pytest.mark.parametrize(
    ("text", "old"), [("say(  {0}hi{0}  )\n", "say( {0}hi{0} )"), ("{0}hi{0}\n", "\\{0}hi\\{0}")]
)
def test_stray_backslash_is_refused_on_a_loose_match(text, old, stray):
    quote = stray[1]
    text, old = text.format(quote), old.format(quote)
    with pytest.raises(Unsafe, match=r"no backslash before a quote"):
        replace(text, old, f"say({stray}ho{stray})")
    assert "ho" in replace(text, old, f"say({quote}ho{quote})").text


def test_backslash_is_kept_if_text_has_one_or_match_is_exact():
    assert replace("f(  'it\\'s')", "f( 'it\\'s')", "f( 'he\\'s')").text == "f(  'he\\'s')"
    assert replace("f('its')", "f('its')", "f('it\\'s')").text == "f('it\\'s')"


def test_line_missing_in_old_string_is_never_removed():
    text = "def f():\n    a = first(1)\n    audit(b'keep me')\n    c = third(3)\n    return c\n"
    old = "def f():\n    a = first(1)\n    zzzz\n    c = third(3)\n    return c\n"
    with pytest.raises(Unsafe, match=r"would remove a line that is not in old_string: .audit"):
        replace(text, old, "def f():\n    return 3\n")
    edit = replace(text, old, old.replace("third(3)", "third(4)"))
    assert (edit.text, edit.strategy) == (text.replace("third(3)", "third(4)"), "block_anchor")


def test_no_match_shows_the_closest_lines():
    with pytest.raises(NoMatch) as error:
        replace("import os\n\ndef total(items):\n    return sum(items)\n", "def totals(item):", "x")
    assert "the closest lines are\n3\tdef total(items):" in str(error.value)


def test_no_match_uses_the_next_longest_line_to_find_close_lines():
    with pytest.raises(NoMatch, match=r"2\tsmall line here"):
        replace("first\nsmall line here\n", "small line there\n" + "0123456789" * 5, "x")


def test_no_match_without_similar_line_says_so():
    with pytest.raises(NoMatch, match=r"no line is similar"):
        replace("completely\ndifferent\n", "0123456789", "x")


def test_line_numbers_in_old_string_are_pointed_out():
    with pytest.raises(NoMatch, match=r"leave out the line numbers.*\n2\tbeta"):
        replace("alpha\nbeta\n", "2\tbeta", "gamma")


LARGE = {
    "anchors everywhere": ("}\n" * 10_000, "}\n" + "some line\n" * 38 + "}\n"),
    "one long line": ("var a = 1; " * 50_000, "var a = 2;"),
    "a run of blanks": (" " * 200_000 + "x", "y  z"),
    "words that nearly fit": ("ab " * 50_000, "b  ab a" + "b ab a" * 300),
    "a long middle": ("x\n" + "ab " * 100_000 + "\ny\n", "x\n" + "cd " * 100_000 + "\ny\n"),
    "dashes": ("—" * 100_000, "- - -"),
    "escapes": ("abc\n" * 10_000, "\\n" * 5_000 + "x"),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_match_in_a_large_text_gives_a_short_error(name):
    text, old = LARGE[name]
    with pytest.raises(NoMatch) as error:
        replace(text, old, "new")
    assert len(str(error.value)) < 4_000
