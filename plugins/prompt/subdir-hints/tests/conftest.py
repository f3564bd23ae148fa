"""A session whose tools touch paths, and a workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Context,
    Deny,
    Excerpt,
    Message,
    Plugin,
    Rewrite,
    ToolCall,
    ToolResultBlock,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_subdir_hints import SubdirHints


class Toolbox(Plugin[NoConfig]):
    """Tools that touch, a guard, a gate and a compaction."""

    @tool(read_only=True)
    def touch(self, path: str = "", file_path: str = "", cwd: str = "") -> str:
        """Touch."""
        return "touched"

    @tool(read_only=True)
    def anything(self, path: dict[str, str] | list[str] | int | None = None) -> str:
        """Touch something that is no string."""
        return "touched"

    @tool
    def bash(self, command: str, workdir: str = "") -> str:
        """Pretend to run a command."""
        return "ran"

    @tool
    def forbidden(self, path: str) -> str:
        """Never runs."""
        return ""

    @tool
    async def compact(self, ctx: Context) -> str:
        """Take the text of every result out of the history."""
        await ctx.rewrite(
            [
                Rewrite(number, number + 1, (_pruned(message),))
                for number, message in enumerate(ctx.history)
                if any(isinstance(block, ToolResultBlock) for block in message.blocks)
            ]
        )
        return "compacted"

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Deny one tool."""
        return Deny("no") if call.name == "forbidden" else None

    @hookimpl
    async def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
        """Refuse what is marked; others may have their turn meanwhile."""
        await asyncio.sleep(0.001)
        return Deny(f"{excerpt.source} is\npoison") if "POISON" in excerpt.text else None


def _pruned(message: Message) -> Message:
    blocks = [replace(b, text="") for b in message.blocks if isinstance(b, ToolResultBlock)]
    return Message(message.role, tuple(blocks))


class Bench:
    """Sessions over one home; each ``touch`` is a turn with the given calls in one response."""

    def __init__(self, make: Callable[..., Harness], home: Path, **config: Any) -> None:
        self._make = make
        self._home = home
        self._config = config
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True)
        self.restart()

    def restart(self) -> None:
        """A new process on the same home."""
        if hasattr(self, "harness"):
            self.harness.close()
        config = {"subdir-hints": self._config}
        self.harness = self._make(SubdirHints, Toolbox, home=self._home, config=config)

    def put(self, name: str, content: str | bytes = "HINT") -> Path:
        """A file of the workspace."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *asked: ToolCall) -> list[str]:
        """The result of each call as the model reads it."""
        self.harness.model.steps += [list(asked), "done"]
        return [result.text for result in self.harness.send("go").tool_calls]

    def touch(self, path: str) -> str:
        """The result of touching one path."""
        return self.run(calls("touch", path=path))[0]

    def bash(self, command: str, **arguments: Any) -> str:
        """The result of one command."""
        return self.run(calls("bash", command=command, **arguments))[0]


@pytest.fixture
def make_bench(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Bench]:
    """Makes a bench with settings of its own."""
    return lambda **config: Bench(harness, tmp_path / "home", **config)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A bench with the default settings."""
    return make_bench()
