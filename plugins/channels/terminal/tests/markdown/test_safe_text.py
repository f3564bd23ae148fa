"""No text from outside can control the terminal or hide anything on a line."""

from __future__ import annotations

import unicodedata

import pytest
from hookline_markdown import both_ends, literal, one_line, readable, width_of
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(), max_size=80)


@given(ANY)
def test_literal_and_readable_have_no_control_characters(text: str) -> None:
    for shown in (literal(text), readable(text)):
        rest = shown.replace("\n", "").replace("\t", "")
        assert all(unicodedata.category(c) not in ("Cc", "Cs") for c in rest)


@given(ANY, st.integers(4, 40))
def test_one_line_has_no_newline_and_fits_width(text: str, width: int) -> None:
    for line in (one_line(text, width), both_ends(text, width)):
        assert width_of(line) <= width
        assert "\n" not in line


@pytest.mark.parametrize("size", [90, 50_000])
def test_long_call_shows_both_ends_and_the_number_left_out(size: int) -> None:
    line = both_ends(f"echo {'x' * size}; rm -rf ~", 80)
    head, _, rest = line.partition("[… ")
    count, _, tail = rest.partition(" characters …]")
    assert head.startswith("echo xxx")
    assert tail.endswith("x; rm -rf ~")
    assert len(head) + int(count.replace(",", "")) + len(tail) == size + 15
