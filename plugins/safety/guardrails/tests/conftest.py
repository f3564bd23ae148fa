"""A model with tools that succeed, fail and repeat themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_guardrails import Guardrails
from hookline_hookspecs import (
    Context,
    Plugin,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

SAME = "Note: this is the same result as before"


class Toolbox(Plugin[NoConfig]):
    """Tools; ``ran`` counts what was run."""

    ran = 0
    waits: asyncio.Event | None = None
    reached: asyncio.Event | None = None

    @tool(read_only=True)
    async def look(self, at: str = "here", deep: bool = False, within: int | None = None) -> str:
        """Look, which never changes anything."""
        self.ran += 1
        await asyncio.sleep(0)
        return f"seen at {at}"

    @tool(read_only=True)
    def count(self) -> str:
        """Give a new result each time."""
        self.ran += 1
        return f"number {self.ran}"

    @tool(read_only=True)
    def fetch_artifact(self, id: str) -> str:  # noqa: A002
        """Stands for the tool of that name."""
        self.ran += 1
        return "a part"

    @tool
    def act(self, what: str = "") -> str:
        """Act; says the same each time."""
        self.ran += 1
        return "acted"

    @tool
    async def struggle(self, fail: bool = True, way: str = "") -> str:
        """Fail, or not."""
        self.ran += 1
        if fail:
            raise ToolError("it did not work")
        return "it worked"

    @tool(read_only=True)
    def long(self, grow: bool = False) -> str:
        """Say something long, whose end may differ each time."""
        self.ran += 1
        return "x" * 10_000 + (str(self.ran) if grow else "")

    @tool
    def bash(self, code: int, command: str = "") -> ToolOutput:
        """Pretend to run a command that succeeds as a call."""
        return ToolOutput(f"output\n[exit code {code}]")

    @tool(read_only=True)
    async def wait(self) -> str:
        """Wait until the process dies, the first time."""
        if self.waits is not None:
            assert self.reached is not None
            self.reached.set()
            await self.waits.wait()
        return "waited"

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Run a sub-agent; return the results of its calls."""
        turn = await ctx.host.run_turn("work", parent=ctx)
        return "\n".join(result.text for result in turn.tool_calls)

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Cut what is long, as another plugin would."""
        return replace(result, text=result.text[:100]) if len(result.text) > 5_000 else None


class Bench:
    """Turns of a scripted model, each a list of responses, each a list of calls."""

    def __init__(self, make: Callable[..., Harness], home: Path, **config: Any) -> None:
        self._make = make
        self._home = home
        self._config = config
        self.restart()

    def restart(self) -> None:
        """A new process on the same home."""
        if hasattr(self, "harness"):
            self.harness.close()
        config = {"guardrails": self._config}
        self.harness = self._make(Guardrails, Toolbox, home=self._home, config=config)

    @property
    def ran(self) -> int:
        """How many calls reached a tool."""
        return self.harness.plugin(Toolbox).ran

    def turn(self, *responses: list[ToolCall], **options: Any) -> list[str]:
        """The result of each call of a turn as the model reads it."""
        self.harness.model.steps[:] = [*responses, "done"]
        outcome = self.harness.send("go", **options)
        assert outcome.text == "done"
        assert [r.call.name for r in outcome.tool_calls] == [c.name for r in responses for c in r]
        return [result.text for result in outcome.tool_calls]

    def one_by_one(self, *requested: ToolCall, **options: Any) -> list[str]:
        """The same with one call in each response."""
        return self.turn(*([call] for call in requested), **options)


def refused(text: str) -> bool:
    """Whether a call was refused as repeated."""
    return text.startswith("Denied: ") and " times with the same arguments within " in text


def look(at: str = "here", **arguments: Any) -> ToolCall:
    """A call of the tool ``look``."""
    return calls("look", at=at, **arguments)


@pytest.fixture
def make_bench(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Bench]:
    """Makes a bench with settings of its own."""
    return lambda **config: Bench(harness, tmp_path / "home", **config)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A bench with the default settings."""
    return make_bench()
