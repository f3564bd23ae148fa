"""Nothing that a model writes can steer the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hookline_markdown import literal, one_line, readable
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(), max_size=80)


@given(ANY)
def test_a_literal_text_hides_nothing(text: str) -> None:
    shown = literal(text).replace("\n", "").replace("\t", "")
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in shown)


@given(ANY)
def test_an_answer_holds_no_control_character(text: str) -> None:
    shown = readable(text).replace("\n", "").replace("\t", "")
    assert all(unicodedata.category(c) not in ("Cc", "Cs") for c in shown)


@given(ANY.filter(str.isprintable))
def test_what_can_be_printed_is_not_changed(text: str) -> None:
    assert literal(text) == readable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\x1b[2K\rrm", r"ls\x1b[2K\rrm"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u200bb", r"a\u200bb"),
        ("zwei\nZeilen\tTab", "zwei\nZeilen\tTab"),
    ],
)
def test_the_unseen_is_spelt_out(text: str, shown: str) -> None:
    assert literal(text) == shown


def test_joined_emoji_stay_joined_in_an_answer() -> None:
    family = "\U0001f468\u200d\U0001f467"
    assert readable(family) == family


@given(ANY, st.integers(2, 40))
def test_one_line_is_one_line(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
