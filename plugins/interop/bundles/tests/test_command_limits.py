"""``allowed-tools`` and ``model`` of commands hold during their turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

from .conftest import Make, write, write_json


class Tools(Plugin):
    """A tool that runs commands, one that reads and one that writes."""

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        return "ran"

    @tool(read_only=True)
    def read_file(self, path: str) -> str:
        """Read a file."""
        return "content"

    @tool
    def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        return "written"


def bundle(folder: Path, front: str, body: str = "Do it.") -> Path:
    write_json(folder / ".claude-plugin/plugin.json", {"name": "demo"})
    write(folder / "commands/go.md", f"---\ndescription: Go\n{front}---\n{body}\n")
    return folder


def started(make: Make, tmp_path: Path, front: str, model: Any, **options: Any) -> Harness:
    permissions = pytest.importorskip("hookline_permissions").Permissions
    h = make(permissions, Tools, model=model, **options)
    done = h.cli(f"bundles add {bundle(tmp_path / 'demo', front)} --yes")
    assert done.exit_code == 0, done.stderr
    return h


CALLS = [
    calls("bash", command="git add a"),
    calls("bash", command="git add a && git commit -m x"),
    calls("bash", command="rm b"),
    calls("read_file", path="a"),
    calls("write_file", path="a", content="b"),
]


@pytest.mark.parametrize(
    "written",
    [
        "Bash(git add:*), Bash(git commit:*)",
        "Bash(git add:*, git commit:*)",
        "[Bash(git add:*), Bash(git commit:*)]",
        "Bash(git add:*) Bash(git commit:*)",
    ],
)
def test_other_tools_are_asked_about_during_the_command(
    make: Make, tmp_path: Path, written: str
) -> None:
    front = f"allowed-tools: {written}\n"
    h = started(make, tmp_path, front, [CALLS, "done"], answers=["Deny"] * 9)
    h.send("/go")
    asked = [q for q in h.questions if "/go says that it uses only" in q.text]
    assert [q.call.arguments.get("command", "file") for q in asked if q.call] == ["rm b", "file"]


def test_limits_end_with_the_turn(make: Make, tmp_path: Path) -> None:
    call = calls("write_file", path="a", content="b")
    h = started(
        make, tmp_path, "allowed-tools: Read\n", [call, "done", call, "done"], answers=["Deny"] * 9
    )
    assert h.send("/go").tool_calls[0].text.startswith("Denied")
    before = len(h.questions)
    h.send("write it")
    assert not any("/go says" in q.text for q in h.questions[before:])


def test_limits_allow_nothing(make: Make, tmp_path: Path) -> None:
    config = {"permissions": {"deny": ["bash"]}}
    call = calls("bash", command="git add a")
    h = started(make, tmp_path, "allowed-tools: Bash\n", [call, "done"], config=config)
    assert h.send("/go").tool_calls[0].text.startswith("Denied")


def test_command_has_its_own_model_for_its_turn(make: Make, tmp_path: Path) -> None:
    config = {"bundles": {"models": {"haiku": "test/small"}}}
    h = started(make, tmp_path, "model: haiku\n", ["one", "two"], config=config)
    h.send("/go")
    h.send("hello")
    assert [request.model for request in h.model.requests] == ["test/small", "test/model"]


def test_unknown_model_is_that_of_the_session(make: Make, tmp_path: Path) -> None:
    h = started(make, tmp_path, "model: haiku\n", ["one"])
    h.send("/go")
    assert h.model.requests[0].model == "test/model"


@pytest.mark.parametrize(
    ("front", "runs"), [("allowed-tools: Bash(echo:*)\n", True), ("allowed-tools: Read\n", False)]
)
def test_program_in_the_text_runs_only_if_the_command_names_it(
    make: Make, tmp_path: Path, front: str, runs: bool
) -> None:
    from hookline_sandbox import Method, found

    if found().method is Method.NONE:
        pytest.skip("no sandbox here")
    permissions = pytest.importorskip("hookline_permissions").Permissions
    h = make(permissions, Tools, model=["one"])
    h.cli(f"bundles add {bundle(tmp_path / 'demo', front, 'Look: !`echo hi`')} --yes")
    h.send("/go")
    text = str(h.model.requests[0].messages[-1])
    assert ("Look: hi" in text) is runs
    assert ("not run yet" in text) is not runs
