"""Rendered text is escaped and within Feishu's size limits."""

from __future__ import annotations

import html
import json
import re

import pytest
from hookline_channelkit import next_piece
from hookline_feishu.client import LIMITS
from hookline_feishu.renderer import card_content, escape_text, post_content, render, to_json
from hookline_hookspecs import Choice
from hypothesis import example, given, settings
from hypothesis import strategies as st

from .contents import RICH, check, check_card

CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
"""Code in a line and blocks of it: between two equally long runs of backticks."""
PARTS = st.sampled_from(
    [
        *("<at id=all></at>", "<b>", "&lt;", "&", '"', "\\", " ", "word", "🙂", "漢字", "\x00"),
        *("**b**", "`c`", "_w_", "~~s~~", "[x](https://e.org/?d=S)", "![p](https://e.org/p)"),
        *("\n", "\n\n", "- ", "1. ", "> q", "# h", "```\nx\n```", "| 1 | 2 |\n", "\ud800"),
        "| a | b |\n|--|--|\n",
    ]
)


@pytest.mark.slow
@given(st.lists(PARTS, max_size=60).map("".join), st.integers(1, 400))
@example("\n" * 400 + "x", 1)
@example("```\nx\n```| a | b |\n|--|--|\n", 4)
@settings(max_examples=40)
def test_every_piece_is_within_message_size_limit(text: str, times: int) -> None:
    text, start = text * times, 0
    while start < len(text):
        piece = next_piece(text, LIMITS, start)
        start = piece.end
        rendered = render(piece.text)
        if not rendered.strip():
            continue
        choices = tuple(Choice(str(n), "label " * 10) for n in range(8)) if piece.is_last else ()
        body = {"msg_type": "post", "receive_id": "oc_" + "x" * 32, "uuid": "u" * 24}
        for shown in (
            post_content(rendered, rich=True),
            post_content(piece.text, rich=False),
            card_content(rendered, choices=choices, chat="oc_" + "x" * 60),
        ):
            sent = to_json({**body, "content": shown}).encode("utf-8", "replace")
            assert len(sent) <= RICH
        clean = rendered.replace("\ud800", "?")
        check("post", post_content(clean, rich=True), 0)
        check_card(json.loads(card_content(clean, choices=choices)))


@given(st.lists(PARTS, max_size=30).map("".join))
@example("<at id=all></at>```\nx\n```\n[x](https://e.org/?d=S)```\nx\n```<at id=all></at>")
def test_render_escapes_mentions_and_links(text: str) -> None:
    rendered = render(text)
    assert "<at" not in rendered
    assert "](http" not in CODE.sub("", rendered)
    assert html.unescape(escape_text(text)) == text


def test_render_markdown_to_feishu_markdown() -> None:
    markdown = (
        "# Head\n\n*one* **two** ~~three~~ `a*b` 2 * 3 <x>\n\n- a\n- b\n\n1. c\n\n> said\n\n---\n"
    )
    assert render(markdown) == (
        "**Head**\n\n*one* **two** ~~three~~ `a*b` 2 &#42; 3 &#60;x&#62;\n\n- a\n- b\n\n1. c\n\n"
        "> said\n\n---"
    )
    assert render("[words](https://e.org/a_b)") == "words (`https://e.org/a_b`)"
    assert render("| a | b |\n|---|---|\n| x | `1` |") == ("| a | b |\n| --- | --- |\n| x | 1 |")
    assert render("```py\nx = '```'\n```") == "````py\nx = '```'\n````"
