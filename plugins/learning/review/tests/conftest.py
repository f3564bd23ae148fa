"""A plugin with a reviewer and a tool to store lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Context, Plugin, Reviewer, Session, hookimpl, tool

Make = Callable[..., Any]


class Diary(Plugin):
    """Keeps lines. The tests set what its reviewer says of itself."""

    reviewer: dict[str, Any] = {"turns": 2}  # noqa: RUF012

    @hookimpl
    def setup(self, host: Any) -> None:
        self.lines: list[str] = []
        self.kinds: list[str] = []
        self.visited: list[str] = []

    @tool
    def note(self, ctx: Context, line: str, action: str = "add") -> str:
        """Keep a line."""
        if action == "list":
            return "\n".join(self.lines)
        self.lines.append(line)
        self.kinds.append(ctx.session.kind)
        return "kept"

    @tool(read_only=True)
    def leaf(self) -> str:
        """Leaf through the diary."""
        return "\n".join(self.lines)

    @tool
    def burn(self) -> str:
        """Burn the diary."""
        self.lines.clear()
        return "burnt"

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """One reviewer, as the test wants it."""
        asked = {"instruction": "What is worth a line?", "tools": ("note", "leaf")}
        register(Reviewer("diary", **{**asked, **self.reviewer}))

    async def visit(self, session: Session) -> None:
        """The function of a reviewer that needs no copy."""
        self.visited.append(session.id)


@pytest.fixture
def diary() -> Callable[..., type[Diary]]:
    """Makes the plugin with a reviewer of these fields."""

    def make(**reviewer: Any) -> type[Diary]:
        return type("Diary", (Diary,), {"reviewer": reviewer, "__doc__": Diary.__doc__})

    return make
