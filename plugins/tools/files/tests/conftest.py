"""A workspace with the plugin's tools on it, and stand-ins for what core provides."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hookline.testing import guarded_paths
from hookline_files import Files, FilesConfig
from hookline_hookspecs import Refused, Stash, Tool, ToolOutput
from hookline_hookspecs.tools import TOOL_MARK


class Host:
    """A replaceable ``pre_read``, and the text that passed it."""

    def __init__(self) -> None:
        self.log = None
        self.gate: Callable[[str], str] = lambda text: text
        self.passed: list[tuple[str, str]] = []

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        self.passed.append((source, text))
        if "REFUSE ME" in text:
            raise Refused(f"{source} holds instructions to the model")
        return self.gate(text)


class Workbench:
    """The tools of one plugin in one session; ``bench("read_file", path="a")`` calls one."""

    def __init__(self, root: Path, **config: Any) -> None:
        self.root = root
        self.host = Host()
        self.plugin = Files(FilesConfig(**config), self.host)  # type: ignore[arg-type]
        self._session = Stash()
        self._session.session = {}
        self.paths = guarded_paths(root, root.parent / "hookline-home")

    def __call__(self, name: str, **arguments: Any) -> str:
        """The tool's text for the model; its errors are raised."""
        output = self.output(name, **arguments)
        return output.text if isinstance(output, ToolOutput) else output

    def output(self, name: str, **arguments: Any) -> Any:
        """The tool's whole result."""
        method = getattr(self.plugin, name)
        tool = Tool.from_function(method, **getattr(method, TOOL_MARK))
        ctx = SimpleNamespace(stash=self._session, paths=self.paths, read=self.host.read)
        answer = tool.run(ctx=ctx, **tool.check(arguments))
        return asyncio.run(answer) if inspect.isawaitable(answer) else answer

    def new_session(self) -> None:
        """Start a session that has read nothing."""
        self._session.session = {}

    def put(self, name: str, content: str | bytes) -> Path:
        """Create a file without the tools."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Workbench]:
    """Make workbenches with given settings."""

    def make(**config: Any) -> Workbench:
        root = tmp_path / "work"
        root.mkdir(exist_ok=True)
        return Workbench(root, **config)

    return make


@pytest.fixture
def bench(make_bench: Callable[..., Workbench]) -> Workbench:
    """A workbench with the default settings."""
    return make_bench()
