"""The pages that one follows from top to bottom, with their commands and what these print."""

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
def test_a_page_works_as_it_says(newcomer: Newcomer, page: str) -> None:
    newcomer.follow(blocks(page))
