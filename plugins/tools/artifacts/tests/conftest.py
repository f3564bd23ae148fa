"""A model whose tools return long texts, and calls of ``fetch_artifact``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_artifacts import Artifacts
from hookline_hookspecs import (
    Context,
    Origin,
    Plugin,
    ToolCall,
    ToolOutput,
    ToolResult,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

MARKER = re.compile(r'\n\[… (\d+) characters left out; fetch_artifact\(id="([^"]+)"\)\]\n')


class Talker(Plugin[NoConfig]):
    """Tools that say what the test wants."""

    text = ""

    @tool(read_only=True)
    def say(self, times: int = 1) -> str:
        """Say the text."""
        return self.text * times

    @tool(read_only=True, paged=True)
    def say_paged(self) -> str:
        """Say the text, bounded by the tool itself."""
        return self.text

    @tool(read_only=True, origin="workspace")
    def say_from(self, url: str = "") -> ToolOutput:
        """Say the text of a page, or of the workspace."""
        return ToolOutput(self.text, origins=(Origin("outside", url),) if url else ())

    @tool
    def complain(self) -> ToolOutput:
        """Fail with the text and a note."""
        notes = ("a note of the tool's own",)
        return ToolOutput(self.text, ok=False, notes=notes)

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Let a sub-agent work."""
        turn = await ctx.host.run_turn("work", parent=ctx)
        return turn.tool_calls[0].text


class Hints(Plugin[NoConfig]):
    """Hints outside of the artifacts, as another plugin would give them."""

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult:
        """Add a long note."""
        return replace(result, notes=(*result.notes, "hint " * 1_000))


class ArtifactTools:
    """Sessions over one home; each ``run`` is a turn with the given calls in one response."""

    def __init__(
        self, make: Callable[..., Harness], home: Path, *outer: Any, **config: Any
    ) -> None:
        self._make = make
        self._home = home
        self._outer = outer
        self._config = config
        self.restart()

    def restart(self) -> None:
        """A new process on the same home."""
        if hasattr(self, "harness"):
            self.harness.close()
        plugins = (*self._outer, Artifacts, Talker)
        config = {"artifacts": self._config}
        self.harness = self._make(*plugins, home=self._home, config=config)

    def speak(self, text: str) -> None:
        """Set the text that the tools return."""
        self.harness.plugin(Talker).text = text

    def run(self, *asked: ToolCall) -> list[ToolResult]:
        """The results of some calls."""
        self.harness.model.steps += [list(asked), "done"]
        return list(self.harness.send("go").tool_calls)

    def say(self, text: str) -> str:
        """The result of ``text`` as the model reads it."""
        self.speak(text)
        return self.run(calls("say"))[0].text

    def keep(self, text: str) -> str:
        """The id under which ``text`` is kept."""
        marker = MARKER.search(self.say(text))
        assert marker is not None
        return marker[2]

    def fetch(self, id_: str, **arguments: Any) -> ToolResult:
        """The result of ``fetch_artifact``."""
        return self.run(calls("fetch_artifact", id=id_, **arguments))[0]


@pytest.fixture
def make_bench(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., ArtifactTools]:
    """Makes a bench with plugins and settings of its own."""
    return lambda *outer, **config: ArtifactTools(harness, tmp_path / "home", *outer, **config)


@pytest.fixture
def bench(make_bench: Callable[..., ArtifactTools]) -> ArtifactTools:
    """A bench with the default settings."""
    return make_bench()
