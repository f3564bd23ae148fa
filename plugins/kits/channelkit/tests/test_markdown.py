"""Markdown is rendered in a dialect: every part, no text lost, any nesting."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hookline_channelkit import HtmlRenderer, Renderer, render_markdown
from hypothesis import given
from hypothesis import strategies as st


class Html(Renderer):
    """A dialect like Telegram's."""

    def text(self, raw: str) -> str:
        return html.escape(raw)

    def code(self, raw: str) -> str:
        return f"<code>{html.escape(raw)}</code>"

    def fence(self, raw: str, language: str) -> str:
        return f"<pre>{language and html.escape(language) + ':'}{html.escape(raw)}</pre>"

    def bold(self, inner: str) -> str:
        return f"<b>{inner}</b>"

    def italic(self, inner: str) -> str:
        return f"<i>{inner}</i>"

    def strike(self, inner: str) -> str:
        return f"<s>{inner}</s>"

    def link(self, inner: str, url: str) -> str:
        return f'<a href="{html.escape(url)}">{inner}</a>'

    def quote(self, inner: str) -> str:
        return f"<q>{inner}</q>"


CASES = {
    "# Hi *x*": "<b>Hi <i>x</i></b>",
    "a **b** _c_ ~~d~~ `e<`": "a <b>b</b> <i>c</i> <s>d</s> <code>e&lt;</code>",
    '[l **m**](http://x/?a=1&b "t")': '<a href="http://x/?a=1&amp;b">l <b>m</b></a>',
    "![alt](http://i/p.png)": '<a href="http://i/p.png">alt</a>',
    "<b>no html</b>": "&lt;b&gt;no html&lt;/b&gt;",
    "[js](javascript:alert(1))": "[js](javascript:alert(1))",
    "soft\nbreak  \nhard": "soft\nbreak\nhard",
    "one\n\ntwo": "one\n\ntwo",
    "3. a\n4. b\n   - c": "3. a\n4. b\n  • c",
    "- a\n\n  ```py\n  x = 1\n    y\n  ```": "• a\n<pre>py:x = 1\n  y</pre>",
    "> q\n> r": "<q>q\nr</q>",
    "```py title\nif a<b:\n```": "<pre>py:if a&lt;b:</pre>",
    "```\nnever closed": "<pre>never closed</pre>",
    "    code": "<pre>code</pre>",
    "| a | bb |\n|---|---|\n| `ccc` | **d** |": "<pre>a   | bb\n----+---\nccc | d</pre>",
    "a\n\n---\n\nb": "a\n\n———\n\nb",
    "**bold that never ends": "**bold that never ends",
    "~~~~> a & b": "&gt; a &amp; b",
    "": "",
}


@pytest.mark.parametrize("markdown", CASES)
def test_renderer_writes_every_part(markdown: str) -> None:
    assert render_markdown(markdown, Html()) == CASES[markdown]


class _Strict(HTMLParser):
    """Refuses what Telegram refuses: tags that are not nested or not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


MARKS = ["**", "*", "_", "~~", "`", "[", "](http://x)", "> ", "- ", "1. ", "```\n", "\n", "\n\n"]
SOUP = st.lists(st.sampled_from([*MARKS, "word", "<b>", "&lt;", "| a |\n|---|\n", "# ", "    "]))


@given(SOUP.map("".join))
def test_renderer_is_well_formed_for_any_text(markdown: str) -> None:
    parser = _Strict()
    parser.feed(render_markdown(markdown, Html()))
    parser.close()
    assert parser.open == []
    in_info = len(re.findall(r"(?m)^.*(?:```|~~~|\|).*word.*$", markdown))
    if not in_info:
        assert parser.words.count("word") >= markdown.count("word")


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["> ", "- ", "**a*", "[", "[a](", "_a__b_", "a`", "![", "<a"])
def test_renderer_keeps_deeply_nested_text(mark: str) -> None:
    assert "the end" in render_markdown(mark * 2000 + "the end", Html())


def test_link_that_names_another_host_says_its_own_and_text_cannot_be_reordered() -> None:
    text = "[paypal.com](https://evil.example/) `a\u202eb` &#x202e; [docs](https://a.example/)"
    shown = render_markdown(text, HtmlRenderer())
    assert '<a href="https://evil.example/">paypal.com</a> (→ evil.example)' in shown
    assert "<code>a\\u202eb</code> \\u202e" in shown
    assert shown.endswith('<a href="https://a.example/">docs</a>')
