"""Pieces fit the limit, add up, keep code fences and characters whole, in linear time."""

from __future__ import annotations

import re
import time

import pytest
import regex
from hookline_channelkit import iter_pieces, length_function, split_markdown
from hookline_channelkit.message_splitter import MIN_LIMIT
from hypothesis import given
from hypothesis import strategies as st

UNITS = ("utf16", "chars", "bytes")
WORDS = st.sampled_from(
    [
        *("a", "word ", "End. ", "é", "e\u0301", "字", "。", "x" * 40, "# T\n", "- i\n"),
        *("👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽", " ", "\t", "\r\n", "\n", "\n\n", "  ", "`"),
        *("```", "```py\n", "\n```\n", "~~~\n", "````md\n", "\n   ```\n"),
    ]
)
TEXTS = st.lists(WORDS, max_size=120).map("".join) | st.text(max_size=300)
LIMITS = st.integers(MIN_LIMIT, 200)
ROOMY = st.integers(2 * MIN_LIMIT, 200)
"""Room for the longest character in bytes, with a fence and its language around it."""


@given(TEXTS, LIMITS, st.sampled_from(UNITS))
def test_iter_pieces_fit_and_add_up(text: str, limit: int, unit: str) -> None:
    length = length_function(unit)  # type: ignore[arg-type]
    pieces = list(iter_pieces(text, limit, length))
    assert split_markdown(text, limit, length) == [piece.text for piece in pieces]
    assert all(length(piece.text) <= limit for piece in pieces)
    assert "".join(piece.source for piece in pieces) == text
    assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True] * bool(
        pieces
    )
    for piece in pieces:
        assert piece.source == text[piece.start : piece.end]
        assert any(
            re.fullmatch(r"(?:(`{3,}|~{3,})[^\n]*\n)?", piece.text[:at])
            and re.fullmatch(r"\n?(?:`{3,}|~{3,})|", piece.text[at + len(piece.source) :])
            for at in range(len(piece.text) - len(piece.source) + 1)
            if piece.text.startswith(piece.source, at)
        )


@given(TEXTS, LIMITS, st.integers(0, 10))
def test_iter_pieces_can_resume(text: str, limit: int, number: int) -> None:
    pieces = list(iter_pieces(text, limit))
    if number < len(pieces):
        assert list(iter_pieces(text, limit, start=pieces[number].start)) == pieces[number:]


@given(st.lists(WORDS, max_size=120).map("".join), ROOMY, st.sampled_from(UNITS))
def test_iter_pieces_keeps_grapheme_clusters(text: str, limit: int, unit: str) -> None:
    length = length_function(unit)  # type: ignore[arg-type]
    borders = {match.end() for match in regex.finditer(r"\X", text)}
    assert all(piece.end in borders for piece in iter_pieces(text, limit, length))


CODE = st.lists(st.sampled_from(["x = 1", "", "    return 2", "print('`')", "y" * 30]), min_size=1)
BLOCKS = st.lists(st.tuples(st.sampled_from(["", "py", "c++ title"]), CODE), max_size=6)


@given(BLOCKS, st.integers(64, 200))
def test_split_markdown_reopens_fences(blocks: list[tuple[str, list[str]]], limit: int) -> None:
    text = "\n\n".join(
        f"Some words.\n```{info}\n" + "\n".join(lines) + "\n```" for info, lines in blocks
    )
    for piece in split_markdown(text, limit):
        assert piece.count("```") % 2 == 0, piece
    infos = re.findall(r"^```(.+)$", "\n".join(split_markdown(text, limit)), re.MULTILINE)
    assert list(dict.fromkeys(infos)) == list(dict.fromkeys(info for info, _ in blocks if info))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One two.\n\nThree four five six seven.", ["One two.\n\n", "Three four five six seven."]),
        ("First line here\nsecond line is here", ["First line here\n", "second line is here"]),
        ("A sentence here. Another one there.", ["A sentence here. ", "Another one there."]),
        ("words that go on and on without end", ["words that go on and on without ", "end"]),
        ("x" * 40, ["x" * 32, "x" * 8]),
        (
            "```py\naaaa = 1\nbbbb = 2\ncccc = 3\n```\nend",
            ["```py\naaaa = 1\nbbbb = 2\n```", "```py\ncccc = 3\n```\nend"],
        ),
    ],
)
def test_split_markdown_prefers_natural_breaks(text: str, pieces: list[str]) -> None:
    assert split_markdown(text, 32) == pieces


def test_split_markdown_refuses_a_small_limit() -> None:
    with pytest.raises(ValueError, match="31"):
        split_markdown("text", 31)


HOSTILE = {
    "one line": "x" * 1_000_000,
    "fences": "```py\n" * 100_000,
    "growing fences": "\n".join("`" * n for n in range(3, 1000)),
    "one huge fence": "`" * 200_000 + "\ncode\n" * 10_000,
    "long info": "```" + "i" * 200_000 + "\ncode\n" * 10_000,
    "one cluster": "e" + "\u0301" * 300_000,
    "flags": "🇩🇪" * 100_000,
    "blank": "\n" * 300_000,
    "marks on spaces": " \u0301" * 150_000,
    "stops": ".\"'" * 200_000,
    "surrogates": "\ud800" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.slow
def test_iter_pieces_is_linear_in_time(name: str) -> None:
    text, began = HOSTILE[name], time.process_time()
    pieces = list(iter_pieces(text, 4096, length_function("utf16")))
    assert time.process_time() - began < 30
    assert "".join(piece.source for piece in pieces) == text
    assert len(pieces) < len(text) * 2 / 400


@pytest.mark.parametrize("deep", ["> " * 5_000, ">" * 9_000 + " a", "`" * 3_000 + " a " * 3_000])
def test_what_is_repeated_at_the_start_of_a_piece_leaves_room_for_text(deep: str) -> None:
    pieces = split_markdown(deep, 4096)
    assert max(map(len, pieces)) <= 4096
    assert len(pieces) <= 8
