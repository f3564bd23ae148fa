"""What holds for every text, old_string and new_string."""

from __future__ import annotations

import re

import pytest
from hookline_textmatch import EditError, replace
from hypothesis import assume, example, given
from hypothesis import strategies as st

ODD = ["  ", "\t", "\n", "\r\n", "\r", "“", '"', "’", "'", "…", "...", "—", "--", "\\n", '\\"']
ODD += ["e\u0301", "\u0301", "\u200b", "\u00a0", "日本", "😀", "\ud800", "\0", "\u1100\u1161", "{"]
ANY = st.lists(st.sampled_from(["a", "b", "foo", " ", "x = 1", *ODD]), max_size=20).map("".join)
ANYTHING = st.one_of(ANY, st.text(max_size=20))
WORD = st.sampled_from(["alpha", "beta", "gamma", "(x)", "+", "if", "“q”", "日本", "naïve", "😀"])
LINE = st.lists(WORD, min_size=1, max_size=4)
BLOCK = st.lists(LINE, min_size=1, max_size=4)
AROUND = st.lists(st.sampled_from(["one 1", "\ttwo  2", "", "  3  "]), max_size=3)
ENDING = st.sampled_from(["\n", "\r\n"])
RUN = st.sampled_from([" ", "  ", "\t", " \t "])
MAYBE = st.sampled_from(["", " ", "    ", "\t"])
OF_BLOCK = re.compile(r"alpha|beta|gamma|[(+“日ï😀]|if")


@pytest.mark.slow
@given(text=ANYTHING, old=ANYTHING, new=ANYTHING, everywhere=st.booleans())
@example(text="日本\r", old="日本\r\n\u00a0", new="b", everywhere=False)
@example(text="a", old="a\n ", new="b", everywhere=False)
def test_any_text_gives_an_edit_or_an_error_sentence(text, old, new, everywhere):
    try:
        edit = replace(text, old, new, replace_all=everywhere)
    except EditError as error:
        assert len(str(error)) > 20  # noqa: PT017 - both outcomes are right
    else:
        assert edit.count >= 1


@pytest.mark.slow
@given(before=ANYTHING, old=ANYTHING, after=ANYTHING, new=ANYTHING)
def test_exact_match_wins_and_inserts_new_string_verbatim(before, old, after, new):
    text = before + old + after
    assume(old.strip() and old != new and "\r" not in text + new)
    assume(text.count(old) == 1 and text.find(old) == text.rfind(old))
    edit = replace(text, old, new)
    assert (edit.text, edit.count, edit.strategy) == (before + new + after, 1, "exact")


@st.composite
def loose(draw):
    """Lines around a block, the block as it is stored, and as the model writes it."""
    block = draw(BLOCK)
    ending = draw(ENDING)
    stored = ""
    for line in block:
        words = "".join(word + draw(RUN) for word in line[:-1]) + line[-1]
        stored += draw(MAYBE) + words + draw(MAYBE) + ending
    written = "".join(" ".join(line) + "\n" for line in block)
    before = "".join(line + ending for line in draw(AROUND))
    after = "".join(line + ending for line in draw(AROUND))
    changed = [draw(st.sampled_from([line, line, ["new", *line], []])) for line in block]
    new = "".join(" ".join(line) + "\n" for line in changed)
    return before, stored, after, written, new, ending


def normal(text: str) -> str:
    """Without indentation, trailing white space, and wide runs."""
    text = text.replace("\r\n", "\n")
    return re.sub(r"[ \t]+", " ", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text))


@given(case=loose())
def test_loose_edit_changes_only_the_matched_region(case):
    before, stored, after, old, new, _ = case
    assume(old != new)
    try:
        edit = replace(before + stored + after, old, new)
    except EditError as error:
        assert "already reads" in str(error)  # noqa: PT017 - anything else is a fault
        return
    assert edit.text.startswith(before)
    assert edit.text.endswith(after)


@pytest.mark.slow
@given(case=loose())
def test_loose_edit_equals_exact_edit_on_normalised_text(case):
    before, stored, after, old, new, _ = case
    text = before + stored + after
    assume(old != new and normal(old) != normal(new))
    assume(normal(text).count(normal(old)) == 1)
    edit = replace(text, old, new)
    assert normal(edit.text) == normal(text).replace(normal(old), normal(new))


@given(case=loose(), ends=st.lists(ENDING, min_size=12, max_size=12))
def test_any_mixed_line_endings_are_kept(case, ends):
    before, stored, after, old, _, _ = case
    lines = (before + stored + after).replace("\r\n", "\n").split("\n")
    mixed = "".join(line + end for line, end in zip(lines[:-1], ends, strict=False))
    new = old.replace(OF_BLOCK.search(old)[0], "changed", 1)
    edit = replace(mixed, old, new)
    assert re.findall("\r?\n", edit.text) == re.findall("\r?\n", mixed)


TYPED = {"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "…": "...", "\u00a0": " "}
TYPESET = st.lists(st.sampled_from(["word", "two", " ", "5", *TYPED]), max_size=6)


@given(before=TYPESET, after=TYPESET, new=st.sampled_from(["zebra", "", "a “b”", "'"]))
def test_typography_outside_the_changed_word_is_kept(before, after, new):
    before, after = ["<", *before, "‘"], ["’", *after, ">"]

    def typed(pieces: list[str]) -> str:
        return "".join(TYPED.get(piece, piece) for piece in pieces)

    old = f"{typed(before)}changed{typed(after)}"
    edit = replace(
        f"{''.join(before)}changed{''.join(after)}", old, f"{typed(before)}{new}{typed(after)}"
    )
    assert edit.text == f"{''.join(before)}{new}{''.join(after)}"
    assert edit.strategy == "unicode_normalized"


LINES = st.lists(st.tuples(st.sampled_from(["a", "b", " c", ""]), ENDING), max_size=4)
NEW = st.text("ab \n", max_size=8)
ONE = st.tuples(st.just("target"), ENDING).map(lambda line: [line])


@given(
    before=LINES, first=LINES, one=ONE, last=LINES, after=LINES, new=st.text("ab \n", max_size=8)
)
def test_exact_edit_is_exact_with_any_line_endings(before, first, one, last, after, new):
    def stored(lines: list[tuple[str, str]]) -> str:
        return "".join(line + end for line, end in lines)

    def seen(lines: list[tuple[str, str]]) -> str:
        return "".join(line + "\n" for line, _ in lines)

    passage = first + one + last
    edit = replace(stored(before + passage + after), seen(passage), new)
    assert edit.strategy == "exact"
    assert edit.text.startswith(stored(before))
    assert edit.text.endswith(stored(after))
    assert edit.text.replace("\r\n", "\n") == seen(before) + new + seen(after)


@pytest.mark.parametrize("count", [1, 10, 1_000])
def test_replace_all_changes_every_place_once(count):
    edit = replace("  a  b;\n" * count, "a b;", "c;", replace_all=True)
    assert (edit.text, edit.count) == ("  c;\n" * count, count)
