"""Markdown in Discord's dialect."""

from __future__ import annotations

import pytest
from hookline_channelkit import render_markdown
from hookline_discord.renderer import DiscordMarkdown
from hypothesis import given
from hypothesis import strategies as st

PAINTER = DiscordMarkdown()


@pytest.mark.parametrize(
    ("markdown", "painted"),
    [
        ("**b** *i* ~~s~~ `c`", "**b** *i* ~~s~~ `c`"),
        ("# One\n\n#### Four", "# One\n\n**Four**"),
        ("a_b \\*c\\* ||d||", r"a\_b \*c\* \|\|d\|\|"),
        ("<@1> @everyone", r"\<@1> @everyone"),
        ("see https://a.org/x_y_z.", "see https://a.org/x_y_z."),
        ("[t](https://a.org/(b))", "[t](<https://a.org/(b)>)"),
        ("[t](javascript:x)", r"\[t](javascript:x)"),
        ("[t](/here)", "t"),
        ("![alt](https://a.org/p.png)", "[alt](<https://a.org/p.png>)"),
        ("> one\n> > two", "> one\n> \n> two"),
        ("1. a\n2. b\n   - c", "1. a\n2. b\n  - c"),
        (
            "\\# no heading\n\n\\- no list\n\n1\\. none",
            "\\# no heading\n\n\\- no list\n\n1\\. none",
        ),
        ("```py\nx = '`'\n```", "```py\nx = '`'\n```"),
        ("````\n```\n````", "```\n`\u200b``\n```"),
        ("`` a`b ``", "`` a`b ``"),
        ("|a|\n|-|\n|b|", "```\na\n-\nb\n```"),
    ],
)
def test_render_markdown_to_discord_markdown(markdown: str, painted: str) -> None:
    assert render_markdown(markdown, PAINTER) == painted


@pytest.mark.long
@given(st.text(alphabet="ab <>@#*_~`|[]()\\\n-.1:/", max_size=80))
def test_plain_text_is_escaped_for_discord(text: str) -> None:
    painted = PAINTER.text(text)
    assert "<@" not in painted.replace("\\<@", "")
    assert "||" not in painted
    assert not painted.lstrip().startswith(("# ", "> ", "- ")) or "http" in text
