"""Sessions on a home, and searches through the tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import ToolResult
from hookline_session_search import SessionSearch


class Talk:
    """Conversations over one harness; the assistant always says ``noted``."""

    def __init__(self, h: Harness) -> None:
        self.h = h
        self._number = 0

    def say(self, text: str, session: str = "old") -> None:
        """A person says something, and is answered."""
        self.h.model.steps[:] = ["noted"]
        self.h.send(text, session=session)

    def search(self, query: str, **options: Any) -> ToolResult:
        """The result of the tool, called in a session of its own."""
        self._number += 1
        self.h.model.steps[:] = [calls("session_search", query=query, **options), "done"]
        outcome = self.h.send("look it up", session=f"asking{self._number}")
        return outcome.tool_calls[0]

    def found(self, query: str, **options: Any) -> list[str]:
        """The snippets that a search finds, best first."""
        result = self.search(query, **options)
        assert result.ok, result.text
        return [one["snippet"] for one in result.data]


@pytest.fixture
def talk(harness: Callable[..., Harness]) -> Talk:
    """A new home."""
    return Talk(harness(SessionSearch))


@pytest.fixture
def talk_in(harness: Callable[..., Harness]) -> Callable[..., Talk]:
    """``talk_in(home)``: another process on a home."""
    return lambda home, *plugins: Talk(harness(SessionSearch, *plugins, home=home))
