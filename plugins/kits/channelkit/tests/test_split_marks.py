"""What a cut opens and closes: tables, quotations, emphasis, code, links; and what it must not
make of a word."""

from __future__ import annotations

import re

import pytest
from hookline_channelkit import HtmlRenderer, render_markdown, split_markdown
from hypothesis import given, settings
from hypothesis import strategies as st


def _shown(markdown: str) -> str:
    return render_markdown(markdown, HtmlRendererWithSchemes())


class HtmlRendererWithSchemes(HtmlRenderer):
    """The base for HTML, as Telegram uses it."""


def _letters(markdown: str) -> str:
    """What people read of a text, without its format."""
    return re.sub(r"\s+", "", re.sub(r"<[^>]+>", "", _shown(markdown)))


def test_rows_of_a_cut_table_get_its_header() -> None:
    rows = "\n".join(f"| {n} | value {n} |" for n in range(100))
    pieces = split_markdown(f"Intro\n\n| a | b |\n|---|---|\n{rows}\n\nEnd", 400)
    assert all("| a | b |\n|---|---|\n" in piece for piece in pieces[1:-1])
    assert all("<pre>" in _shown(piece) for piece in pieces[1:-1])
    assert all(f"value {n}" in "".join(pieces) for n in range(100))


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("> " + "quoted words " * 60, "blockquote"),
        ("**" + "bold words " * 60 + "end**", "b"),
        ("~~" + "old words " * 60 + "end~~", "s"),
        ("`" + "code words " * 60 + "end`", "code"),
    ],
)
def test_cut_marks_are_closed_and_opened_again(text: str, tag: str) -> None:
    pieces = split_markdown(text, 300)
    assert len(pieces) > 1
    for piece in pieces:
        assert _shown(piece.strip()).startswith(f"<{tag}>"), piece
        assert _shown(piece.strip()).endswith(f"</{tag}>"), piece


@pytest.mark.parametrize("whole", ["[a link of words](https://a.org/x)", "`code with spaces`"])
def test_links_and_short_code_stay_whole(whole: str) -> None:
    text = "word " * 50 + whole + " word" * 50
    assert all(
        any(whole in piece for piece in split_markdown(text, limit)) for limit in range(256, 310)
    )


@pytest.mark.parametrize("word", ["-", "#", ">", "1.", "+", "*", "2024.", "=="])
def test_word_at_the_start_of_a_piece_makes_no_block(word: str) -> None:
    text = "a " + f"{word} " * 400
    pieces = split_markdown(text, 300)
    assert "".join(map(_letters, pieces)) == _letters(text)
    assert not any(tag in _shown(piece) for piece in pieces for tag in ("•", "<b>", "<blockquote>"))


WORDS = [
    *("word", "end.", "-", "#", ">", "1.", "+", "5.", "==", "x" * 30, "**bold text**", "*it*"),
    *("`a b`", "[l k](https://a.org/b)", "~~no~~"),
]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=100, max_size=200))
def test_pieces_together_say_the_same(words: list[str]) -> None:
    text = f"start {' '.join(words)}"
    assert "".join(map(_letters, split_markdown(text, 300))) == _letters(text)
