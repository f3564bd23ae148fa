"""Secrets in the environment are visible to Hookline only, not to tools or other processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machine import Machine

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux can hide it"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv"),
]
SECRET = f"hush-{os.getpid()}-7f3a9c51e2"
"""Begins every secret value; another process of these tests has another."""
ENVIRONMENT = {
    "OPENAI_API_KEY": f"{SECRET}-key",
    "ACME_THING": f"{SECRET}-thing",
    "GITHUB_PAT": f"{SECRET}-pat",
    "BACKUP": f"postgres://me:{SECRET}-url@localhost/x",
    "HOOKLINE_PLUGINS__WEBHOOK__SECRET": f"{SECRET}-overlay",
}
CONFIG = """
providers: {acme: {base_url: "http://127.0.0.1:9/v1", headers: {x-thing: "${ACME_THING}"}}}
plugins: {webhook: false, shell: {sandbox: {enabled: false}}}
"""
MEMORY = f"""
import sys
pid = sys.argv[1]
needle = {SECRET[:8]!r}.encode() + {SECRET[8:]!r}.encode()
with open(f"/proc/{{pid}}/maps") as maps, open(f"/proc/{{pid}}/mem", "rb", 0) as memory:
    for line in maps:
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        try:
            memory.seek(start)
            if needle in memory.read(end - start):
                print(needle.decode())
        except (OSError, ValueError, OverflowError):
            pass
"""
PLAIN = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []
"""Makes root an account like any other."""
LOOK = (
    "cat /proc/{pid}/environ",
    "cat /proc/{pid}/task/{pid}/environ",
    "ps eww {pid}",
    "ps axeww",
    "ls -l /proc/{pid}/fd",
    "env",
    "{python} {memory} {pid}",
    "gdb -p {pid} -batch -ex 'info proc mappings'",
)


@pytest.fixture
def inspection_commands(machine: Machine) -> list[str]:
    """Commands that look into a process; `{pid}` is left to fill in."""
    memory = machine.workspace / "memory.py"
    memory.write_text(MEMORY, "utf-8")
    machine.config(CONFIG)
    machine.env.update(ENVIRONMENT)
    return [
        one.replace("{python}", sys.executable).replace("{memory}", str(memory)) for one in LOOK
    ]


@pytest.mark.slow
def test_tool_sees_no_secret_of_the_process(
    machine: Machine, inspection_commands: list[str]
) -> None:
    call = {
        "name": "bash",
        "arguments": {"command": "; ".join(inspection_commands).replace("{pid}", "$PPID")},
    }
    model = machine.script({"tools": [call]}, {"text": "done"})
    done = machine.run("run", "go", "--model", model, "--yes", "--json")
    [text] = [event["text"] for event in done.events if event["type"] == "tool_result"]
    assert SECRET not in text
    assert "Permission denied" in text


@pytest.fixture
def running(machine: Machine, inspection_commands: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A runtime in the middle of a turn."""
    call = {"name": "bash", "arguments": {"command": "touch began; sleep 30"}}
    model = machine.script({"tools": [call]})
    process = subprocess.Popen(
        [*PLAIN, sys.executable, "-m", "hookline", "run", "go", "--model", model, "--yes"],
        cwd=machine.workspace,
        env=machine.environment(),
        stdin=subprocess.DEVNULL,
    )
    machine.wait_for("began")
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_other_process_of_the_account_sees_no_secret(
    running: subprocess.Popen[bytes], inspection_commands: list[str]
) -> None:
    for one in inspection_commands:
        command = one.format(pid=running.pid)
        done = subprocess.run(
            [*PLAIN, "sh", "-c", command], capture_output=True, errors="replace", check=False
        )
        assert SECRET not in done.stdout, command
        if "/environ" in command:
            assert "Permission denied" in done.stderr, command


@pytest.mark.slow
def test_root_finds_no_secret_in_the_environment(running: subprocess.Popen[bytes]) -> None:
    shown = subprocess.run(["ps", "eww", str(running.pid)], capture_output=True, check=True)
    assert SECRET.encode() not in shown.stdout
    if os.getuid() == 0:
        assert b"OPENAI_API_KEY=\0" in Path(f"/proc/{running.pid}/environ").read_bytes()
