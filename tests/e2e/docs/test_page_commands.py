"""Pages to follow from top to bottom: their commands print what the page shows."""

from __future__ import annotations

import pytest
from support.docs.newcomer import Newcomer
from support.docs.pages import blocks

WALKS = (
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
