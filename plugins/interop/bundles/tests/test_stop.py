"""``Stop`` and ``SubagentStop``: a hook can make the agent go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls

from .conftest import Make, claude_plugin, write
from .test_hooks import Tools

# Refuses to stop until the file `done` exists in its data folder, and records its input.
UNTIL_DONE = """#!/bin/sh
cat >> "$CLAUDE_PLUGIN_DATA/inputs"; echo >> "$CLAUDE_PLUGIN_DATA/inputs"
if [ -e "$CLAUDE_PLUGIN_DATA/once" ]; then exit 0; fi
touch "$CLAUDE_PLUGIN_DATA/once"
{answer}
"""
BY_CODE = 'echo "run the tests first" >&2; exit 2'
BY_JSON = """echo '{"decision": "block", "reason": "run the tests first"}'"""


def bundle(folder: Path, answer: str, event: str = "Stop") -> Path:
    plugin = claude_plugin(folder, **{event: [{"command": "${CLAUDE_PLUGIN_ROOT}/stop.sh"}]})
    write(plugin / "stop.sh", UNTIL_DONE.replace("{answer}", answer), executable=True)
    return plugin


def inputs(h: Harness) -> list[dict[str, Any]]:
    text = (h.home / "bundles/.data/demo/inputs").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


@pytest.mark.parametrize("answer", [BY_CODE, BY_JSON], ids=["exit code", "decision"])
def test_agent_goes_on_with_the_reason(make: Make, tmp_path: Path, answer: str) -> None:
    h = make(Tools, model=["finished", calls("bash", command="pytest"), "really finished"])
    h.cli(f"bundles add {bundle(tmp_path / 'demo', answer)} --yes")
    outcome = h.send("work")
    assert outcome.text == "really finished"
    assert "demo: run the tests first" in str(h.model.requests[1].messages[-1])
    assert [one["stop_hook_active"] for one in inputs(h)] == [False, True]
    assert inputs(h)[0]["last_assistant_message"] == "finished"


def test_agent_goes_on_at_most_five_times(make: Make, tmp_path: Path) -> None:
    h = make(Tools, model=[f"answer {number}" for number in range(9)])
    plugin = claude_plugin(tmp_path / "demo", Stop=[{"command": "echo never >&2; exit 2"}])
    h.cli(f"bundles add {plugin} --yes")
    outcome = h.send("work")
    assert outcome.text == "answer 5"
    assert any("had gone on 5 times" in notice.text for notice in outcome.notices)


def test_hook_that_asks_to_end_the_turn_ends_it(make: Make, tmp_path: Path) -> None:
    answer = """echo '{"continue": false, "stopReason": "enough"}'"""
    h = make(Tools, model=["finished"])
    h.cli(f"bundles add {bundle(tmp_path / 'demo', answer)} --yes")
    assert h.send("work").text == "finished"


def test_sub_agent_goes_on(make: Make, tmp_path: Path) -> None:
    delegate = pytest.importorskip("hookline_delegate").Delegate
    h = make(delegate, Tools, model=[calls("delegate", task="look"), "half", "whole", "done"])
    h.cli(f"bundles add {bundle(tmp_path / 'demo', BY_CODE, 'SubagentStop')} --yes")
    outcome = h.send("work")
    assert outcome.text == "done"
    assert "whole" in outcome.tool_calls[0].text
