"""Markdown as Telegram's HTML."""

from __future__ import annotations

import html
import re

import pytest
from hookline_channelkit import render_markdown
from hookline_telegram.renderer import TelegramHtml
from hypothesis import example, given
from hypothesis import strategies as st

from .telegram_text import parse

PIECES = st.sampled_from(
    [
        *(
            "**",
            "*",
            "_",
            "`",
            "```",
            "~~",
            "\n",
            "\n\n",
            "> ",
            "> > ",
            "- ",
            "1. ",
            "# ",
            "[",
            "](",
        ),
        *(")", 'http://a.b/?x=1&y="2"', "<b>", "</b>", "&", "&amp;", "<", ">", "|", "|-|", "a"),
        *(
            "word ",
            "🙂",
            "```py\n",
            "    ",
            "![",
            "javascript:x",
            "\\",
            "&#0;",
            "tg://user?id=1",
            "é",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
@example("```🙂\n**")
@example("```word \n**")
@example("> a\n> > b\n\n**`x`**")
@example("[a `b`](http://x.y/\"'<>&)")
def test_rendered_html_parses_and_keeps_every_word(markdown: str) -> None:
    parsed = parse(render_markdown(markdown, TelegramHtml()), "HTML")
    letters = re.sub(r"[^a-z🙂é]", "", html.unescape(parsed.text))
    # What stands behind the marks of a code fence names its language and is not shown.
    unseen = "".join(re.findall(r"(?:```|~~~).*", markdown))
    faces = markdown.count("🙂")
    assert faces - unseen.count("🙂") <= letters.count("🙂") <= faces
    hidden = markdown.count("](") + unseen.count("word")
    assert letters.count("word") >= markdown.count("word ") - hidden


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("**a** & <b>", "<b>a</b> &amp; &lt;b&gt;"),
        ("`x < 1`", "<code>x &lt; 1</code>"),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1</code></pre>'),
        ("[a](http://b.c/?d=1&e=2)", '<a href="http://b.c/?d=1&amp;e=2">a</a>'),
        ("[a](../b)", "a"),
        ("~~gone~~", "<s>gone</s>"),
    ],
)
def test_render_markdown_to_telegram_html(markdown: str, wanted: str) -> None:
    assert render_markdown(markdown, TelegramHtml()) == wanted
