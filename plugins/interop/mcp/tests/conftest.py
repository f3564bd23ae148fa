"""Servers that do what a test says, and agents that use them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import ToolResult
from hookline_mcp import Mcp

PROGRAM = Path(__file__).parent / "server.py"


@dataclass
class Server:
    """A plan for ``server.py``, which may change while it runs."""

    plan: Path
    program: Path
    tools: list[dict[str, Any]]
    more: dict[str, Any] = field(default_factory=dict)

    def write(self) -> None:
        """Apply the fields from now on."""
        fresh = self.plan.with_suffix(".new")
        fresh.write_text(json.dumps({"tools": self.tools, **self.more}), "utf-8")
        fresh.replace(self.plan)

    @property
    def command(self) -> dict[str, Any]:
        """What starts it."""
        arguments = ["-I", "-S", str(self.program), str(self.plan)]
        return {"command": sys.executable, "args": arguments}

    def config(self, **more: Any) -> dict[str, Any]:
        """Its entry in config.yaml; without a sandbox, which has tests of its own."""
        return {**self.command, "sandbox": False, "approval": "never", **more}


class McpHome:
    """A home, and the agents that live in it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.config: dict[str, Any] = {"servers": {}}
        self.core: dict[str, Any] = {}
        self._open: list[Harness] = []
        self._plans = self._calls = 0

    @staticmethod
    def tool(name: str, answer: Any = "echo", **fields: Any) -> dict[str, Any]:
        """A tool as a server lists it, with how it answers."""
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        about = {"name": name, "description": f"Does {name}.", "inputSchema": schema}
        return {**about, **fields, "answer": answer}

    def server(self, *tools: dict[str, Any], **more: Any) -> Server:
        """A server with these tools; ``more`` is what else ``server.py`` is given."""
        self._plans += 1
        made = Server(self.folder / f"plan{self._plans}.json", PROGRAM, list(tools), more)
        made.write()
        return made

    def inside(self, *tools: dict[str, Any], **more: Any) -> Server:
        """The same in the workspace, where a sandbox shows it."""
        program = self.workspace / "server.py"
        shutil.copy(PROGRAM, program)
        made = Server(self.workspace / "plan.json", program, list(tools), more)
        made.write()
        return made

    def serve(self, name: str, *tools: dict[str, Any], **more: Any) -> Server:
        """The same, named in config.yaml and approved."""
        made = self.server(*tools, **more)
        self.config["servers"][name] = made.config()
        self.cli(f"mcp approve {name} --yes")
        return made

    def agent(
        self, *plugins: Any, model: Any = (), settings: dict[str, Any] | None = None, **more: Any
    ) -> Harness:
        """An agent that starts now, with what is approved now."""
        made = Harness(
            *plugins,
            Mcp,
            home=self.home,
            config={"mcp": self.config, **(settings or {})},
            model=model,
            workspace=self.workspace,
            core=self.core,
            **more,
        )
        self._open.append(made)
        return made

    def cli(self, line: str, *, code: int = 0, plugins: Sequence[Any] = ()) -> str:
        """What ``hookline LINE`` prints, standard error included."""
        agent = self.agent(*plugins)
        done = agent.cli(line)
        agent.close()
        assert done.exit_code == code, done
        return done.stdout + done.stderr

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> ToolResult:
        """The result of one call, by an agent that starts now."""
        agent = self.agent(model=[calls(tool, **(arguments or {})), "done"], **more)
        self._calls += 1
        outcome = agent.send("go", session=f"call-{self._calls}")
        agent.close()
        (result,) = outcome.tool_calls
        return result

    def close(self) -> None:
        """End every agent."""
        for agent in self._open:
            agent.close()


@pytest.fixture
def mcp_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[McpHome]:
    """An empty home; servers that fail are started again at once."""
    monkeypatch.setattr("hookline_mcp.pool.FIRST_RESTART_DELAY", 0.001)
    made = McpHome(tmp_path)
    yield made
    made.close()
