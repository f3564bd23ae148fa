"""``hookline permissions`` in a home: config.yaml is edited in place, and rules decide calls."""

from __future__ import annotations

import json

import pytest
from support.machine import Machine

CONFIG = """\
# mine
plugins:
  permissions:
    mode: ask  # careful
    allow:
    - bash(git log *)  # history
"""


@pytest.mark.slow
def test_rules_are_added_checked_used_and_removed(machine: Machine) -> None:
    path = machine.config(CONFIG)
    added = machine.run("permissions", "add", "allow", "bash(touch *)")
    assert (added.code, added.err) == (0, "")
    assert path.read_text() == f"{CONFIG}    - bash(touch *)\n"
    checked = machine.run("permissions", "check", "bash", '{"command": "touch made"}', "--json")
    found = json.loads(checked.out)
    assert (found["verdict"], found["rule"]) == ("allow", "bash(touch *)")
    steps = [{"name": "bash", "arguments": {"command": one}} for one in ("touch made", "rm made")]
    model = machine.script({"tools": steps}, {"text": "done"})
    done = machine.run("run", "go", "--json", "--no-wait", "--model", model, "--no-input")
    results = [line["text"] for line in done.events if line["type"] == "tool_result"]
    assert results[0].endswith("[exit code 0]")
    assert results[1].startswith("Denied: it may change something")
    assert (machine.workspace / "made").exists()
    assert machine.run("permissions", "remove", "bash(touch *)").code == 0
    assert path.read_text() == CONFIG
    assert machine.run("permissions", "add", "deny", "git push").code == 2
