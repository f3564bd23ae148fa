"""Agent Plugins 1.0.0: each case of the specification, and what a server of a bundle gets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.testing import Harness, calls

from .conftest import Make, skill_text, write, write_json

SCHEMAS = {
    "M": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    "S": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
}
CASES = yaml.safe_load(Path(__file__).with_name("agent_plugins.yaml").read_text("utf-8"))


def write_document(file: Path, value: Any) -> None:
    if isinstance(value, dict) and value.get("$schema") in SCHEMAS:
        value = {**value, "$schema": SCHEMAS[value["$schema"]]}
    write(file, value if isinstance(value, str) else json.dumps(value))


def agent_plugin(folder: Path, case: dict[str, Any]) -> Path:
    """The folder of a case; it has the skill ``one`` unless the case has not."""
    write_document(folder / "plugin.json", case["manifest"])
    if not case.get("no_skill"):
        write(folder / "skills/one/SKILL.md", skill_text("one"))
    if "mcp" in case:
        write_document(folder / "mcp.json", case["mcp"])
    for path, text in case.get("files", {}).items():
        content = skill_text("other") if text == "skill" else text
        write(folder / path, content, executable=text == "program")
    return folder


@pytest.fixture
def h(make: Make) -> Harness:
    return make()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_of_the_specification(h: Harness, tmp_path: Path, case: dict[str, Any]) -> None:
    done = h.cli(f"bundles add {agent_plugin(tmp_path / 'bundle', case)} --yes")
    rows = json.loads(h.cli("bundles list --json").stdout)
    if case.get("refused"):
        assert done.exit_code != 0
        assert rows == []
        return
    assert done.exit_code == 0, done.stderr
    (row,) = rows
    assert row["format"] == "agent-plugins"
    assert row["parts"]["skills"] == case.get("skills", [])
    assert row["parts"]["servers"] == case.get("servers", [])
    assert case.get("told", "") in " ".join(row["problems"])
    if "told" not in case:
        assert row["problems"] == []


def test_links_that_lead_out_are_left_out_alone(h: Harness, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside/SKILL.md", skill_text("outside")).parent
    case = {"manifest": {"$schema": "M", "name": "linked"}}
    folder = agent_plugin(tmp_path / "bundle", case)
    (folder / "skills/outside").symlink_to(outside)
    (folder / "escape").symlink_to("..")
    (folder / "inside").symlink_to("skills")
    program = {"type": "stdio", "command": "node", "cwd": "./escape"}
    write_document(folder / "mcp.json", {"$schema": "S", "mcpServers": {"out": program}})
    assert h.cli(f"bundles add {folder} --yes").exit_code == 0
    row = json.loads(h.cli("bundles info linked --json").stdout)
    assert row["parts"]["skills"] == ["one"]
    root = h.home / "bundles/linked"
    assert not (root / "skills/outside").exists()
    assert not (root / "escape").exists()
    assert (root / "inside/one/SKILL.md").is_file()


def test_manifest_that_is_a_link_out_is_refused(h: Harness, tmp_path: Path) -> None:
    case = {"manifest": {"$schema": "M", "name": "linked"}}
    folder = agent_plugin(tmp_path / "bundle", case)
    (folder / "plugin.json").rename(tmp_path / "elsewhere.json")
    (folder / "plugin.json").symlink_to(tmp_path / "elsewhere.json")
    h.cli(f"bundles add {folder} --yes")
    rows = json.loads(h.cli("bundles list --json").stdout)
    assert all(row["format"] != "agent-plugins" for row in rows)


PROBE = Path(__file__).with_name("probe_server.py")


@pytest.mark.long
def test_server_gets_what_the_specification_says(make: Make, tmp_path: Path) -> None:
    mcp = pytest.importorskip("hookline_mcp").Mcp
    pytest.importorskip("mcp.client.client")  # takes a second, which would count as a blocked loop
    folder = tmp_path / "bundle"
    agent_plugin(folder, {"manifest": {"$schema": "M", "name": "probe"}})
    (folder / "work").mkdir()
    write(folder / "work/note", "x")
    write(folder / "server.py", PROBE.read_text("utf-8"))
    arguments = [
        "${PLUGIN_ROOT}/server.py",
        "with spaces",
        "",
        "${OTHER}",
        "$PLUGIN_ROOT",
        "${PLUGIN_DATA}",
    ]
    program = {"type": "stdio", "command": Path(sys.executable).name, "args": arguments}
    env = {"VALUE": "${PLUGIN_ROOT}|${PLUGIN_DATA}|${OTHER}"}
    servers = {
        "default": {**program, "env": env},
        "relative": {**program, "cwd": "./work"},
        "data": {**program, "cwd": "${PLUGIN_DATA}"},
    }
    write_document(folder / "mcp.json", {"$schema": "S", "mcpServers": servers})
    first = make(mcp)
    assert first.cli(f"bundles add {folder} --yes").exit_code == 0
    second = make(mcp, home=first.home)
    for name in servers:
        done = second.cli(f"mcp approve {name} --yes")
        assert done.exit_code == 0, done.stderr
    model = [[calls(f"mcp__{name}__probe") for name in servers], "done"]
    config = {"mcp": {"discovery": "direct"}}
    h = make(mcp, home=first.home, model=model, config=config)
    results = {r.call.name: r.text for r in h.send("go", session="new", approve="yes").tool_calls}
    found = {name: json.loads(results[f"mcp__{name}__probe"].split("\n")[0]) for name in servers}
    root, data = str(h.home / "bundles/probe"), str(h.home / "bundles/.data/probe")
    default = found["default"]
    assert default["args"] == ["with spaces", "", "${OTHER}", "$PLUGIN_ROOT", data]
    assert default["env"] == {
        "PLUGIN_ROOT": root,
        "PLUGIN_DATA": data,
        "VALUE": f"{root}|{data}|${{OTHER}}",
    }
    assert default["cwd"] == root
    assert found["relative"]["cwd"] == f"{root}/work"
    assert found["data"]["cwd"] == data
    assert all(one["wrote"] for one in found.values())


def test_server_is_off_until_it_is_allowed(make: Make, tmp_path: Path) -> None:
    mcp = pytest.importorskip("hookline_mcp").Mcp
    folder = agent_plugin(tmp_path / "bundle", {"manifest": {"$schema": "M", "name": "probe"}})
    marker = tmp_path / "started"
    program = {"type": "stdio", "command": "touch", "args": [str(marker)]}
    write_document(folder / "mcp.json", {"$schema": "S", "mcpServers": {"one": program}})
    first = make()
    first.cli(f"bundles add {folder} --yes")
    h = make(mcp, home=first.home, model=["done"])
    h.send("hello", session="new")
    listed = h.cli("mcp list")
    assert "one" in listed.stdout
    assert "bundle probe" in listed.stdout
    assert not marker.exists()
    assert not [tool for tool in h.model.requests[0].tools if tool.name.startswith("mcp__")]


def test_other_manifest_adds_commands_agents_and_hooks(h: Harness, tmp_path: Path) -> None:
    folder = agent_plugin(tmp_path / "bundle", {"manifest": {"$schema": "M", "name": "both"}})
    write_json(folder / ".claude-plugin/plugin.json", {"name": "other"})
    write(folder / "commands/plan.md", "Plan it\n")
    h.cli(f"bundles add {folder} --yes")
    row = json.loads(h.cli("bundles info both --json").stdout)
    assert row["parts"]["commands"] == ["plan"]
    assert row["parts"]["skills"] == ["one"]
