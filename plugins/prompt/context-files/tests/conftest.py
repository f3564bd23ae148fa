"""New sessions over a home and a workspace that a test fills."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_context_files import ContextFiles
from hookline_hookspecs import Context, Deny, Excerpt, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

HEAD = "# Context files\n"


class Gate(Plugin[NoConfig]):
    """Refuses what is marked, rewrites what is marked otherwise, and can start a sub-agent."""

    @hookimpl
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> Excerpt | Deny | None:
        """The gate."""
        if "POISON" in excerpt.text:
            return Deny(f"{excerpt.source}\nis bad")
        if "SHORT" in excerpt.text:
            longer = excerpt.text.replace("SHORT", "[REDACTED]" * 100)
            return Excerpt(excerpt.kind, excerpt.source, longer)
        return None

    @tool
    async def helper(self, ctx: Context) -> str:
        """Run a sub-agent."""
        return (await ctx.host.run_turn("help", parent=ctx)).reply


class Bench:
    """One home; each call of ``system`` begins a new session and returns its frozen prompt."""

    def __init__(self, make: Callable[..., Harness], home: Path, **config: Any) -> None:
        self.home = home
        self.workspace = home.parent / "work"
        self.workspace.mkdir(parents=True)
        self.home.mkdir()
        self._options = {"home": home, "config": {"context-files": config}}
        self._make = make
        self._sessions = 0
        self.open(self.workspace)

    def open(self, workspace: Path) -> None:
        """A new process that works in ``workspace``."""
        if hasattr(self, "harness"):
            self.harness.close()
        options = {**self._options, "workspace": workspace}
        self.harness = self._make(ContextFiles, Gate, **options)

    def put(self, name: str, content: str | bytes) -> Path:
        """A file of the workspace."""
        return _write(self.workspace / name, content)

    def keep(self, name: str, content: str | bytes) -> Path:
        """A file of the home folder."""
        return _write(self.home / name, content)

    def system(self) -> str:
        """The system prompt of a new session in the terminal."""
        self._sessions += 1
        self.harness.model.steps.append("ok")
        self.told = self.harness.send("hi", session=f"s{self._sessions}").notices
        return self.harness.model.last.system

    def context(self) -> str:
        """The section ``context`` of a new session; empty if there is none."""
        _, found, rest = self.system().partition(HEAD)
        return rest.partition("\n\nDate: ")[0] if found else ""

    def complaints(self) -> list[str]:
        """The notices at the beginning of the newest session."""
        return [notice.text for notice in self.told]


def _write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def make_bench(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Bench]:
    """Makes a bench with settings of its own."""
    return lambda **config: Bench(harness, tmp_path / "home", **config)


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A bench with the default settings."""
    return make_bench()
