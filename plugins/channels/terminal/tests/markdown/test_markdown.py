"""Streamed Markdown is cut between blocks, never inside one."""

from __future__ import annotations

import pytest
from hookline_markdown import MarkdownBlocks, StreamedAnswer, render
from hypothesis import given
from hypothesis import strategies as st

LINES = st.sampled_from(
    [
        "",
        "words",
        "- item",
        "  more of it",
        "```",
        "```py",
        "~~~",
        "````",
        "# head",
        "`a` ```b",
        "\t",
    ]
)
TEXTS = st.lists(LINES, max_size=20).map("\n".join)


def cut(text: str, sizes: list[int]) -> list[str]:
    """The blocks of ``text`` when it arrives in pieces of these sizes, the open one last."""
    blocks, found = MarkdownBlocks(), []
    for size in [*sizes, len(text)]:
        piece, text = text[:size], text[size:]
        found += blocks.feed(piece)
    return [*found, blocks.finish()]


@given(TEXTS, st.lists(st.integers(1, 7), max_size=40))
def test_piece_sizes_do_not_change_blocks(text: str, sizes: list[int]) -> None:
    assert "".join(cut(text, sizes)) == text
    assert cut(text, sizes) == cut(text, [])


def test_block_ends_where_next_begins() -> None:
    assert cut("one\ntwo\n\n\nthree", []) == ["one\ntwo\n\n\n", "three"]


def test_code_block_is_one_block() -> None:
    code = "```py\na\n\nb\n~~~\n\nc\n```\n"
    assert cut(f"{code}\nafter", []) == [f"{code}\n", "after"]


def test_longer_fence_contains_shorter_fence() -> None:
    code = "````\n```\n\n```\n````\n"
    assert cut(f"{code}\nafter", []) == [f"{code}\n", "after"]


def test_indented_text_stays_with_its_list() -> None:
    text = "- a\n\n  still a\n\n- b"
    assert cut(text, []) == ["- a\n\n  still a\n\n", "- b"]


def test_link_shows_its_url() -> None:
    assert "https://example.org/x" in render("[a bank](https://example.org/x)", 80)


@given(TEXTS)
def test_render_keeps_all_words(text: str) -> None:
    assert render(text, 80).count("words") == text.count("words")


def test_render_keeps_line_breaks_of_paragraph() -> None:
    assert render("Dear Ann,\nhello.\nBob", 80) == "Dear Ann,\nhello.\nBob\n"


def test_growing_line_wraps_at_stable_places() -> None:
    answer = StreamedAnswer()
    answer.grow("first\n" + "雪" * 7_990)
    answer.grow("だ")
    assert answer.tail_lines(21, 2) == ["雪" * 10, "だ"]
    answer.grow("x" * 100_000 + "\nlast")
    assert answer.tail_lines(21, 1) == ["last"]


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("It is in check_stats.py now", ["It is in", "check_stats.py now"]),
        ("The **mean** is **wro", ["The mean is wro"]),
        ("2 ** 3, f(**more)", ["2 ** 3, f(**more)"]),
        ("```\n**kept", ["```", "**kept"]),
    ],
)
def test_open_block_wraps_between_words(said: str, lines: list[str]) -> None:
    answer = StreamedAnswer()
    answer.grow(said)
    assert answer.tail_lines(20, 5) == lines
