"""Columns of a terminal: East Asian letters take two, combining marks none."""

from __future__ import annotations

from hookline_markdown import cut, fitted, folded, one_line, width_of, wrapped
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text("ab 雪é́🎉　x", max_size=60)


def test_width_of_counts_columns() -> None:
    assert [width_of(text) for text in ("abc", "雪だ", "🎉", "é")] == [3, 4, 2, 1]


@given(TEXTS, st.integers(4, 30))
def test_cut_and_wrapped_lines_fit_width(text: str, width: int) -> None:
    pieces = folded(text, width)
    assert "".join(pieces) == text
    assert width_of(cut(text, width)) <= width
    assert width_of(one_line(text, width)) <= width
    for line in (*pieces, *wrapped(text, width)):
        assert width_of(line) <= width


@given(TEXTS, st.integers(4, 30))
def test_wrapping_keeps_every_letter(text: str, width: int) -> None:
    assert "".join(wrapped(text, width)).replace(" ", "") == text.replace(" ", "")


def test_fitted_row_continues_below_last_cell() -> None:
    text = "Sessions\n/new (/reset)  End this session and begin a new one."
    assert fitted(text, 40).split("\n") == [
        "Sessions",
        "/new (/reset)  End this session and",
        "               begin a new one.",
        "",
    ]
    assert fitted("  a word that is too long", 12) == "  a word\n  that is\n  too long\n"
