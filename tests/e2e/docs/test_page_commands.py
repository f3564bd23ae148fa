"""Pages to follow from top to bottom: their commands print what the page shows."""

from __future__ import annotations

import re

import pytest
from support.docs.newcomer import Newcomer
from support.docs.pages import blocks, read

NINE_KINDS = tuple(
    f"authors/cookbook/{kind}.md"
    for kind in (
        *("tool", "command", "context", "guard", "memory"),
        *("job", "page", "channel", "provider"),
    )
)
WALKS = (
    *NINE_KINDS,
    "authors/first-plugin.md",
    "authors/publishing.md",
    "audit.md",
    "databases.md",
    "switching-plugins.md",
    "team.md",
)


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKS)
def test_commands_of_a_page_print_what_it_shows(newcomer: Newcomer, page: str) -> None:
    newcomer.follow(blocks(page))


def test_cookbook_lists_the_nine_kinds() -> None:
    section = read("authors/cookbook/index.md").partition("## A first")[2].partition("\n## ")[0]
    linked = re.findall(r"\]\((\w+\.md)\)", section)
    assert [f"authors/cookbook/{page}" for page in linked] == list(NINE_KINDS)
