"""MCP servers of bundles: what a person is shown before one starts, and what asks again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hookline.testing import Harness

from .conftest import Make, write, write_json

PROBE = Path(__file__).with_name("probe_server.py")


def plugin(folder: Path, **entry: object) -> Path:
    """A plugin with the server `probe`, whose program names a host."""
    manifest = {"name": "demo", "version": "1.2.0", "mcpServers": {"probe": entry}}
    write_json(folder / ".claude-plugin/plugin.json", manifest)
    write(folder / "server.py", f"# https://api.example.org/v1\n{PROBE.read_text('utf-8')}")
    return folder


def program(**more: object) -> dict[str, object]:
    return {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"], **more}


@pytest.fixture
def mcp() -> type:
    pytest.importorskip("mcp.client.client")  # takes a second, which would block the loop
    found: type = pytest.importorskip("hookline_mcp").Mcp
    return found


def state(h: Harness) -> str:
    (row,) = json.loads(h.cli("mcp list --json").stdout)
    return str(row["state"])


@pytest.mark.long
def test_question_about_a_server_shows_all_that_it_is(
    make: Make, mcp: type, tmp_path: Path
) -> None:
    folder = plugin(tmp_path / "demo", **program(env={"KEY": "${API_KEY}", "MODE": "fast"}))
    first = make()
    first.cli(f"bundles add {folder} --yes")
    write(first.home / ".env", "API_KEY=k-12345\n")
    h = make(mcp, home=first.home)
    done = h.cli("mcp approve probe --yes")
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(h.cli("bundles list --json").stdout)
    root = h.home / "bundles/demo"
    for shown in (
        f"python3 {root}/server.py",
        "MODE",
        "looks up  API_KEY",
        "version   1.2.0",
        f"sha256 {row['sha256']}",
        f"folder    {root} (read only)",
        f"data      {h.home}/bundles/.data/demo",
        "hosts     api.example.org",
    ):
        assert shown in done.stdout
    assert "k-12345" not in done.stdout
    assert state(h) == "approved"


@pytest.mark.long
@pytest.mark.parametrize("change", ["program", "arguments", "variable"])
def test_changed_server_has_to_be_approved_again(
    make: Make, mcp: type, tmp_path: Path, change: str
) -> None:
    folder = plugin(tmp_path / "demo", **program())
    first = make()
    first.cli(f"bundles add {folder} --yes")
    assert make(mcp, home=first.home).cli("mcp approve probe --yes").exit_code == 0
    entry = program()
    if change == "program":
        write(folder / "other.py", "x = 1\n")
    elif change == "arguments":
        entry["args"] = ["${CLAUDE_PLUGIN_ROOT}/server.py", "--all"]
    else:
        entry["env"] = {"NEW": "1"}
    plugin(folder, **entry)
    h = make(mcp, home=first.home)
    assert state(h) == "approved"
    assert h.cli("bundles update demo --yes").exit_code == 0
    assert state(h) == "changed"


def test_program_that_is_fetched_at_each_start_is_named(
    make: Make, mcp: type, tmp_path: Path
) -> None:
    first = make()
    folder = plugin(tmp_path / "demo", command="bunx", args=["some-server@1"])
    first.cli(f"bundles add {folder} --yes")
    done = make(mcp, home=first.home).cli("mcp approve probe --yes")
    assert "not pinned: bunx fetches its program whenever the server starts" in done.stdout
