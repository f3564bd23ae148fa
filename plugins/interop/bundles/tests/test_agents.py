"""Sub-agents of bundles: their line, instruction, tools, model and limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

from .conftest import Make, write, write_json


class Files(Plugin):
    """Two tools."""

    @tool(read_only=True)
    def read_file(self, path: str) -> str:
        """Read a file."""
        return "content"

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        return "ran"


def bundle(folder: Path, front: str) -> Path:
    write_json(folder / ".claude-plugin/plugin.json", {"name": "team"})
    write(
        folder / "agents/checker.md",
        f"---\nname: checker\ndescription: Checks work\n{front}---\nYou check.\n",
    )
    return folder


def started(make: Make, tmp_path: Path, front: str, *, model: Any, **config: Any) -> Harness:
    delegate = pytest.importorskip("hookline_delegate").Delegate
    h = make(delegate, Files, model=model, config=config)
    assert h.cli(f"bundles add {bundle(tmp_path / 'team', front)} --yes").exit_code == 0
    return h


CALL = calls("delegate", task="look", agent="checker")


def test_sub_agent_has_its_line_instruction_and_tools(make: Make, tmp_path: Path) -> None:
    h = started(make, tmp_path, "tools: Read, Grep\n", model=[CALL, "report", "done"])
    h.send("go")
    parent, child = h.model.requests[0], h.model.requests[1]
    assert "- checker: Checks work" in parent.system
    (schema,) = [one for one in parent.tools if one.name == "delegate"]
    assert "agent" in schema.parameters["properties"]
    assert "You check." in str(child)
    assert [one.name for one in child.tools] == ["read_file"]


def test_without_sub_agents_nothing_is_offered(make: Make) -> None:
    delegate = pytest.importorskip("hookline_delegate").Delegate
    h = make(delegate, Files, model=["hi"])
    h.send("go")
    (schema,) = [one for one in h.model.requests[0].tools if one.name == "delegate"]
    assert "agent" not in schema.parameters["properties"]
    assert "delegate(agent" not in h.model.requests[0].system


def test_sub_agent_has_its_own_model(make: Make, tmp_path: Path) -> None:
    config = {"bundles": {"models": {"haiku": "test/small"}}}
    h = started(make, tmp_path, "model: haiku\n", model=[CALL, "report", "done"], **config)
    h.send("go")
    assert [request.model for request in h.model.requests] == [
        "test/model",
        "test/small",
        "test/model",
    ]


def test_limit_of_a_sub_agent_counts(make: Make, tmp_path: Path) -> None:
    steps = [CALL, calls("read_file", path="a"), "report", "done"]
    h = started(make, tmp_path, "maxTurns: 2\n", model=steps)
    h.send("go")
    assert h.model.requests[2].params["tool_choice"] == "none"


def test_unknown_sub_agent_is_an_error_with_a_hint(make: Make, tmp_path: Path) -> None:
    h = started(make, tmp_path, "", model=[calls("delegate", task="x", agent="cheker"), "done"])
    assert "did you mean checker?" in h.send("go").tool_calls[0].text
