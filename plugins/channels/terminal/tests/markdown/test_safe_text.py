"""No text of a model can control the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hookline_markdown import literal, one_line, readable
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(), max_size=80)


@given(ANY)
def test_literal_shows_every_hidden_character(text: str) -> None:
    shown = literal(text).replace("\n", "").replace("\t", "")
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in shown)


@given(ANY)
def test_readable_has_no_control_characters(text: str) -> None:
    shown = readable(text).replace("\n", "").replace("\t", "")
    assert all(unicodedata.category(c) not in ("Cc", "Cs") for c in shown)


@given(ANY.filter(str.isprintable))
def test_printable_text_is_unchanged(text: str) -> None:
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
def test_literal_spells_out_invisible_characters(text: str, shown: str) -> None:
    assert literal(text) == shown


def test_readable_keeps_joined_emoji() -> None:
    family = "\U0001f468\u200d\U0001f467"
    assert readable(family) == family


@given(ANY, st.integers(2, 40))
def test_one_line_has_no_newline_and_fits_width(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
