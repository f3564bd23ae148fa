"""The question about a new host on a real terminal, while the command that reaches for it waits."""

from __future__ import annotations

import sys
import time

import pytest
from hookline_sandbox import found
from support.machine import Machine
from support.terminal import TerminalScreen

SCRIPT = """import urllib.error, urllib.request
try:
    urllib.request.urlopen("http://packages.invalid/", timeout=60)
except urllib.error.HTTPError as error:
    print("the proxy said", error.code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not found().method.has_namespaces, reason=found().why or "no namespaces")
def test_new_host_is_asked_about_while_the_command_waits(machine: Machine) -> None:
    (machine.workspace / "fetch.py").write_text(SCRIPT)
    call = {"name": "bash", "arguments": {"command": "python3 fetch.py", "timeout": 3}}
    model = machine.script({"tools": [call]}, {"text": "It is over."})
    program = [sys.executable, "-m", "hookline", "run", "go", "--model", model]
    with TerminalScreen(program, env=machine.environment(), cwd=machine.workspace) as screen:
        screen.wait_for("Allow access to packages.invalid?")
        screen.wait_for("python3 fetch.py")
        screen.wait_for("Allow packages.invalid in this session")
        time.sleep(4)  # longer than the command's timeout, which stands still
        screen.type("3\r")
        screen.wait_for("It is over.")
    rules = machine.run("permissions", "list").out
    assert "network(packages.invalid)" in rules
    assert machine.run("permissions", "remove", "network(packages.invalid)").code == 0
