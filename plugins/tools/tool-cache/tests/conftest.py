"""Tools that declare how long their results are good for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Ask,
    Context,
    Deny,
    ImageBlock,
    Origin,
    Plugin,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_tool_cache import ToolCache

MARK = "Note: from the cache, "


class Shop(Plugin[NoConfig]):
    """Tools; each counts how often it was run."""

    ran = 0
    verdict: Any = None
    suffix = ""

    def _again(self) -> int:
        self.ran += 1
        return self.ran

    @tool(read_only=True, cache_ttl=60)
    def price(self, item: str, size: int = 1, at: str | None = None, cold: bool = False) -> str:
        """The same for every chat."""
        return f"{item} costs {self._again()}"

    @tool(read_only=True, cache_ttl=60)
    def mine(self, ctx: Context) -> str:
        """Depends on the chat."""
        return f"{ctx.session.chat_id} has {self._again()}"

    @tool(read_only=True)
    def fresh(self, item: str) -> str:
        """Never remembered."""
        return f"{item} costs {self._again()}"

    @tool(read_only=True, cache_ttl=60)
    def failing(self, item: str) -> str:
        """Fails."""
        raise ToolError(f"no {item} for the {self._again()}. time")

    @tool(read_only=True, cache_ttl=60)
    def big(self, number: int) -> str:
        """A result of 1,000 bytes."""
        return f"{number:03} {self._again():03} " + "é" * 496

    @tool(read_only=True, cache_ttl=60)
    def rich(self) -> ToolResult:
        """Notes, a picture and a value."""
        images = (ImageBlock("image/png", "AAAA", origins=()),)
        data = {"ran": self._again()}
        notes = ("a note",)
        return ToolResult(ToolCall("", "rich", {}), "text", notes=notes, data=data, images=images)

    @tool(read_only=True, cache_ttl=60, origin="workspace")
    def page(self) -> ToolOutput:
        """A page."""
        return ToolOutput("words", origins=(Origin("outside", "https://page.example"),))

    @tool(read_only=True, cache_ttl=60)
    def odd(self) -> ToolResult:
        """A value that cannot be copied."""
        self._again()
        return ToolResult(ToolCall("", "odd", {}), "text", data=object())

    @tool(read_only=True, cache_ttl=60, approval="it costs money")
    def buy(self) -> str:
        """Needs approval each time."""
        return f"bought {self._again()}"

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Let a sub-agent work; what its calls came to."""
        turn = await ctx.host.run_turn("work", parent=ctx)
        return "\n".join(result.text for result in turn.tool_calls)

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """The verdict that the test sets."""
        found: Ask | Deny | None = self.verdict
        return found

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Change every result, as another plugin would."""
        return replace(result, text=result.text + self.suffix) if self.suffix else None


class CachedTools:
    """Turns over one harness."""

    def __init__(self, make: Callable[..., Harness], **config: Any) -> None:
        self.harness = make(ToolCache, Shop, config={"tool-cache": config})

    @property
    def shop(self) -> Shop:
        """The tools."""
        return self.harness.plugin(Shop)

    def turn(self, *asked: ToolCall, **options: Any) -> list[ToolResult]:
        """The results of calls, one in each response."""
        self.harness.model.steps[:] = [*([call] for call in asked), "done"]
        return list(self.harness.send("go", **options).tool_calls)

    def call(self, name: str, **arguments: Any) -> str:
        """The result of one call as the model reads it."""
        return self.turn(calls(name, **arguments))[0].text


@pytest.fixture
def make_bench(harness: Callable[..., Harness]) -> Callable[..., CachedTools]:
    """Makes a bench with settings of its own."""
    return lambda **config: CachedTools(harness, **config)


@pytest.fixture
def bench(make_bench: Callable[..., CachedTools]) -> CachedTools:
    """A bench with the default settings."""
    return make_bench()
