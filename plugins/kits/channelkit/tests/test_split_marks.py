"""What a cut opens and closes: tables, quotations, emphasis, code, links; and what it must not
make of a word."""

from __future__ import annotations

import re

import pytest
from hookline_channelkit import HtmlRenderer, render_markdown, split_markdown
from hypothesis import given, settings
from hypothesis import strategies as st
from support.matrices import sampled


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


def test_table_and_code_in_a_quotation_stay_in_it() -> None:
    table = "> | a | b |\n> |---|---|\n" + "\n".join(f"> | {n} | v{n} |" for n in range(60))
    code = "> ```py\n" + "".join(f"> line {n} = '{'x' * n}'\n" for n in range(60)) + "> ```\n"
    for text in (table, code):
        for limit in range(256, 300, 7):
            pieces = split_markdown(text, limit)
            assert len(pieces) > 3
            for piece in pieces:
                assert _shown(piece.strip()).startswith("<blockquote><pre>"), piece
                assert all(line.startswith(">") for line in piece.strip().split("\n"))
    code_pieces = split_markdown(code, 256)
    assert "".join(map(_letters, code_pieces)) == _letters(code)


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


def test_address_of_a_link_stays_whole_without_white_space_around() -> None:
    link = f"[链接](https://example.org/{'a' * 80})"
    pieces = split_markdown("字" * 200 + link + "字" * 200, 300)
    assert any(link in piece for piece in pieces)
    assert max(map(len, pieces)) <= 300


def test_text_of_a_link_longer_than_a_message_leads_to_the_same_address() -> None:
    text = f"see [{'label words ' * 60}end](https://example.org/x) and more"
    pieces = split_markdown(text, 300)
    assert all('<a href="https://example.org/x">' in _shown(piece.strip()) for piece in pieces)
    assert "".join(map(_letters, pieces)) == _letters(text)


def test_address_longer_than_a_message_begins_a_piece() -> None:
    address = f"https://example.org/{'a' * 400}"
    pieces = split_markdown(f"see [the label]({address}) end", 300)
    assert pieces[0] == "see [the label]("
    assert "".join(pieces[1:]).startswith(address)


def _in_list(indent: str) -> dict[str, str]:
    lines = [f"value {n}" for n in range(60)]
    return {
        "items": "".join(f"{indent}- {line}\n" for line in lines),
        "paragraphs": "".join(f"{indent}{line}\n\n" for line in lines),
        "code": f"{indent}```py\n"
        + "".join(f"{indent}{one}\n" for one in lines)
        + f"{indent}```\n",
        "table": f"{indent}| a | b |\n{indent}|---|---|\n"
        + "".join(f"{indent}| {line} | b |\n" for line in lines),
    }


@pytest.mark.parametrize("quote", ["", "> "])
@sampled("indent", ["  ", "    ", "\t", "        "], 2, rest="long")
@pytest.mark.parametrize("kind", ["items", "paragraphs", "code", "table"])
def test_what_stands_in_a_list_does_not_become_code(kind: str, indent: str, quote: str) -> None:
    top = "- top\n" if len(indent) < 8 else "- top\n    - deeper\n"
    text = f"{top}\n{_in_list(indent)[kind]}\n{indent}after it\n\n- next item"
    text = "".join(f"{quote}{line}" for line in text.splitlines(keepends=True))
    whole = _shown(text)
    for limit in (256, 290, 333):
        pieces = split_markdown(text, limit)
        assert max(map(len, pieces)) <= limit
        shown = [_shown(piece) for piece in pieces]
        assert ("<pre>" in "".join(shown)) is ("<pre>" in whole), shown
        code = re.findall(r"<pre>.*?</pre>", "".join(shown), re.DOTALL)
        assert not any(after in one for one in code for after in ("after it", "next item")), code
        assert "<pre></pre>" not in code
