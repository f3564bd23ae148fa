"""Tasks over a real provider's wire: ten tool calls on real files, a shared conversation."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.machine import FIRST_REQUEST_TOKENS, Machine
from support.model_servers import Step, Wire, anthropic, openai

Serve = Callable[[Sequence[Step]], Wire]
WIRES = pytest.mark.parametrize("serve", [openai, anthropic], ids=["openai", "anthropic"])
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8cf500f0003860180a5f8b1a20000000049454e44ae426082"
)
BUG = "def area(width, height):\n    return width + height\n"
CHECK = "from shapes import area\nassert area(3, 4) == 12, area(3, 4)\nprint('all is well')\n"
TASK: list[Step] = [
    [
        ("list_dir", {"path": "."}),
        ("glob", {"pattern": "**/*.py"}),
        ("grep", {"pattern": r"width \+"}),
    ],
    [("read_file", {"path": "shapes.py"})],
    [
        (
            "edit_file",
            {"path": "shapes.py", "old_string": "width + height", "new_string": "width * height"},
        )
    ],
    [("read_file", {"path": "shapes.py", "start_line": 2, "end_line": 2})],
    [("bash", {"command": "python3 check.py"})],
    [("write_file", {"path": "docs/changes.md", "content": "The area is a product. ✓\n"})],
    [("list_dir", {"path": "docs"}), ("grep", {"pattern": "product", "glob": "*.md"})],
    "Mended: `area` multiplies now, and the check passes.",
]


@pytest.fixture
def project(machine: Machine) -> Path:
    (machine.workspace / "shapes.py").write_text(BUG)
    (machine.workspace / "check.py").write_text(CHECK)
    return machine.workspace


@pytest.mark.slow
@WIRES
def test_task_of_ten_tool_calls_changes_real_files(
    machine: Machine, project: Path, serve: Serve
) -> None:
    wire = serve(TASK)
    with wire.server:
        done = machine.run("run", "Mend area() and check it.", "--json", "--yes", env=wire.env)
    assert done.code == 0, done.err
    assert wire.never_refused()
    assert all(body["stream"] is True for body in wire.bodies)
    assert done.result["text"] == TASK[-1]
    assert done.result["tool_calls"] == 10
    assert (project / "shapes.py").read_text() == BUG.replace("+", "*")
    assert (project / "docs" / "changes.md").read_text("utf-8") == "The area is a product. ✓\n"

    listed, globbed, grepped, read, edited, again, ran, written, docs, found = wire.tool_results()
    assert "check.py" in listed
    assert "shapes.py" in listed
    assert {"check.py", "shapes.py"} <= set(globbed.split())
    assert "shapes.py" in grepped
    assert "width + height" in read
    assert re.search(r"^Edited .*shapes\.py: 1 replacement\(s\), strategy \w+", edited)
    assert "width * height" in again
    assert "def area" not in again
    assert "all is well" in ran
    assert ran.rstrip().endswith("[exit code 0]")
    assert not written.startswith(("Error", "Denied"))
    assert "changes.md" in docs
    assert "product" in found


def unmarked(messages: Any) -> Any:
    """Messages without the marks of a prompt cache, which move on with each request."""
    if isinstance(messages, list):
        return [unmarked(item) for item in messages]
    if isinstance(messages, dict):
        return {k: unmarked(v) for k, v in messages.items() if k != "cache_control"}
    return messages


@pytest.mark.slow
@WIRES
def test_runs_of_one_session_share_a_conversation(machine: Machine, serve: Serve) -> None:
    (machine.workspace / "dot.png").write_bytes(PNG)
    wire = serve([[("list_dir", {})], "A dot.", "It was a dot, as I said."])
    with wire.server:
        first = machine.run(
            "run", "What’s “here”?", "--image", "dot.png", "--session", "two", env=wire.env
        )
        second = machine.run("run", "And before?", "--session", "two", env=wire.env)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.out == "A dot.\n"
    assert second.out == "It was a dot, as I said.\n"
    assert wire.never_refused()
    assert base64.b64encode(PNG).decode() in wire.messages_as_sent(0)
    assert "image/png" in wire.messages_as_sent(0)
    asked, answered, later = wire.bodies
    assert (asked["tools"], asked.get("system")) == (later["tools"], later.get("system"))
    for earlier, number in ((asked, 0), (answered, 1)):
        size = len(earlier["messages"])
        assert unmarked(later["messages"][:size]) == unmarked(earlier["messages"])
        if serve is openai:
            all_plugins_load = wire.messages_as_sent(number)
            assert wire.messages_as_sent(2).startswith(all_plugins_load[:-1])
    assert json.dumps(later["messages"][-1], ensure_ascii=False).count("And before?") == 1


@pytest.mark.slow
@WIRES
def test_first_request_of_a_session_is_small(machine: Machine, serve: Serve) -> None:
    wire = serve(["hello"])
    with wire.server:
        done = machine.run("run", "hello", env=wire.env)
    assert done.code == 0, done.err
    names = {tool.get("name") or tool["function"]["name"] for tool in wire.bodies[0]["tools"]}
    assert {"read_file", "write_file", "edit_file", "list_dir", "glob", "grep", "bash"} <= names
    assert 100 < wire.prompt_tokens(0) < FIRST_REQUEST_TOKENS


@pytest.mark.slow
def test_run_with_anthropic_prints_nothing_to_stderr(
    machine: Machine, all_plugins_load: None
) -> None:
    wire = anthropic(["hello"])
    with wire.server:
        done = machine.run("run", "hello", env=wire.env)
    assert (done.code, done.out, done.err) == (0, "hello\n", "")


@pytest.mark.slow
def test_offered_tools_are_the_same_with_yes_and_no_input(
    machine: Machine, all_plugins_load: None
) -> None:
    wire = openai(["hello", "hello"])
    with wire.server:
        for option in ("--yes", "--no-input"):
            done = machine.run("run", "hello", option, env=wire.env)
            assert (done.code, done.out, done.err) == (0, "hello\n", "")
    first, second = (body["tools"] for body in wire.bodies)
    assert first == second
