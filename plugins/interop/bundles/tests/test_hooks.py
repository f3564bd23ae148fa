"""Hooks in any language: of config.yaml and of bundles, at each event."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Ask, Context, Deny, Plugin, ToolCall, hookimpl, tool

from .conftest import Make, claude_plugin, write, write_json


class Tools(Plugin):
    """Notes calls."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        self.calls.append(("bash", {"command": command}))
        return "ran"

    @tool
    def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        self.calls.append(("write_file", {"path": path, "content": content}))
        return "written"


def with_hook(make: Make, event: str, run: str, *, model: Any = (), **options: Any) -> Harness:
    """A harness with one hook of config.yaml."""
    settings = {key: options.pop(key) for key in ("match", "timeout") if key in options}
    hooks = {event: [{"run": run, **settings}]}
    config = {"bundles": {"hooks": hooks}}
    return make(Tools, config=config, model=model, **options)


def first_result(h: Harness) -> str:
    return h.send("go").tool_calls[0].text


BASH = [calls("bash", command="git push origin main"), "done"]


def test_config_hook_refuses_with_exit_code_2(make: Make) -> None:
    h = with_hook(make, "pre_tool", "echo not today >&2; exit 2", model=BASH)
    assert first_result(h) == "Denied: config.yaml: not today"
    assert h.plugin(Tools).calls == []


def test_config_hook_with_exit_code_0_has_nothing_to_say(make: Make) -> None:
    h = with_hook(make, "pre_tool", "echo fine", model=BASH)
    assert first_result(h) == "ran"


@pytest.mark.parametrize(
    "run",
    [
        "exit 1",
        "no-such-program-anywhere",
        "kill -9 $$",
        "echo '{not json'",
        'echo \'{"hookSpecificOutput": {"permissionDecision": "maybe"}}\'',
        pytest.param("sleep 20", marks=pytest.mark.long),
        "yes | head -c 3000000",
        "while true; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
    ],
)
def test_guard_of_config_that_fails_refuses(make: Make, run: str) -> None:
    h = with_hook(make, "pre_tool", run, model=BASH, timeout=2)
    assert first_result(h).startswith("Denied: config.yaml: the hook failed")
    assert h.plugin(Tools).calls == []


def test_match_is_a_permission_rule(make: Make) -> None:
    permissions = pytest.importorskip("hookline_permissions").Permissions
    commands = ["git status", "cd x && sudo git push", "ls; git push -f"]
    model = [[calls("bash", command=one) for one in commands], "done"]
    hooks = {"pre_tool": [{"match": "bash(git push*)", "run": "exit 2"}]}
    h = make(permissions, Tools, config={"bundles": {"hooks": hooks}}, model=model)
    results = [
        r.text.startswith("Denied: config.yaml") for r in h.send("go", approve="yes").tool_calls
    ]
    assert results == [False, True, True]


def test_hook_gets_the_call_by_both_names(make: Make, tmp_path: Path) -> None:
    note = f"{sys.executable} -c 'import sys; sys.stderr.write(sys.stdin.read()); sys.exit(2)'"
    model = [calls("write_file", path="a.txt", content="x"), "done"]
    h = with_hook(make, "pre_tool", note, model=model)
    text = first_result(h)
    data = json.loads(text.removeprefix("Denied: config.yaml: "))
    assert data["hook_event_name"] == "PreToolUse"
    assert data["tool_name"] == "Write"
    assert data["tool_input"] == {"file_path": str(h.workspace / "a.txt"), "content": "x"}
    assert data["hookline"] == {
        "tool": "write_file",
        "arguments": {"path": "a.txt", "content": "x"},
    }
    assert data["cwd"] == str(h.workspace)
    assert data["session_id"]


def test_hook_without_a_place_in_the_environment_for_secrets(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-0123456789abcdef")
    h = with_hook(make, "pre_tool", "env >&2; exit 2", model=BASH)
    text = first_result(h)
    assert "sk-0123456789abcdef" not in text
    assert "CLAUDE_PROJECT_DIR" in text


def test_program_in_the_workspace_is_not_found_on_path(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    write(workspace / "bin/check", "#!/bin/sh\nexit 0\n", executable=True)
    monkeypatch.setenv("PATH", f"{workspace / 'bin'}:/usr/bin:/bin")
    h = with_hook(make, "pre_tool", "check", model=BASH, workspace=workspace)
    assert "could not be run" in first_result(h)


def test_script_of_a_hook_that_changes_is_not_run(make: Make, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    script = write(workspace / "check.sh", "#!/bin/sh\nexit 2\n", executable=True)
    model = [*BASH, *BASH]
    h = with_hook(make, "pre_tool", "./check.sh", model=model, workspace=workspace)
    assert first_result(h).startswith("Denied: config.yaml")
    write(script, "#!/bin/sh\nexit 0\n")
    text = first_result(h)
    assert "check.sh has changed" in text
    assert h.plugin(Tools).calls == []


def test_prompt_hook_refuses_or_adds_context(make: Make) -> None:
    h = with_hook(
        make,
        "pre_prompt",
        "grep -q secret && { echo no secrets >&2; exit 2; }; echo It is Monday",
        model=["hi"],
    )
    assert "no secrets" in h.send("a secret").text
    assert h.send("hello").text == "hi"
    assert "It is Monday" in str(h.model.requests[0])


def test_session_hook_adds_context_once(make: Make) -> None:
    h = with_hook(make, "start_of_session", "echo Welcome back", model=["one", "two"])
    h.send("first")
    h.send("second")
    assert "Welcome back" in str(h.model.requests[0].messages[-1])
    assert "Welcome back" not in str(h.model.requests[1].messages[-1])


def test_hook_after_a_tool_tells_the_model(make: Make) -> None:
    objects = 'echo \'{"decision": "block", "reason": "run the formatter"}\''
    h = with_hook(make, "post_tool", objects, model=BASH)
    (result,) = h.send("go").tool_calls
    assert result.text == "ran\n\nNote: config.yaml: run the formatter"


def test_hook_that_runs_after_a_refused_call_does_not_run(make: Make, tmp_path: Path) -> None:
    class Refuses(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> Deny:
            return Deny("never")

    h = make(
        Refuses,
        Tools,
        config={"bundles": {"hooks": {"post_tool": [{"run": "exit 1"}]}}},
        model=BASH,
    )
    outcome = h.send("go")
    assert not any("Hook of" in notice.text for notice in outcome.notices)


def test_stop_hooks_run_for_the_session_and_its_sub_agents(make: Make, tmp_path: Path) -> None:
    delegate = pytest.importorskip("hookline_delegate").Delegate
    hooks = {"end_of_turn": [{"run": "touch stopped"}], "end_of_agent": [{"run": "touch agent"}]}
    model = [calls("delegate", task="x"), "report", "done"]
    h = make(delegate, Tools, config={"bundles": {"hooks": hooks}}, model=model)
    h.send("go")
    assert (h.workspace / "stopped").exists()
    assert (h.workspace / "agent").exists()


class Records(Plugin):
    """A guard that notes what it was asked about, and refuses ``evil``."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[Any] = []

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        self.asked.append(call.arguments["command"])
        return Deny("evil") if "evil" in call.arguments["command"] else None


def rewriting(folder: Path, command: str) -> Path:
    """A plugin whose hook changes every command."""
    answer = {"hookSpecificOutput": {"updatedInput": {"command": command}}}
    hook = {"matcher": "Bash", "command": "cat ${CLAUDE_PLUGIN_ROOT}/answer.json"}
    plugin = claude_plugin(folder, PreToolUse=[hook])
    write_json(plugin / "answer.json", answer)
    return plugin


@pytest.mark.parametrize(("command", "runs"), [("echo good", True), ("echo evil", False)])
def test_arguments_that_a_hook_changed_pass_every_guard(
    make: Make, tmp_path: Path, command: str, runs: bool
) -> None:
    h = make(Records, Tools, model=[calls("bash", command="ls"), "done"])
    h.cli(f"bundles add {rewriting(tmp_path / 'demo', command)} --yes")
    text = first_result(h)
    assert h.plugin(Records).asked == ["ls", command]
    assert h.plugin(Tools).calls == ([("bash", {"command": command})] if runs else [])
    assert text == ("ran" if runs else "Denied: evil")


def answering(folder: Path, decision: str) -> Path:
    """A plugin whose hook gives a decision about every command."""
    answer = {
        "hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "why"}
    }
    hook = {"matcher": "Bash|Write", "command": "cat ${CLAUDE_PLUGIN_ROOT}/answer.json"}
    plugin = claude_plugin(folder, PreToolUse=[hook])
    write_json(plugin / "answer.json", answer)
    return plugin


def test_hook_of_a_bundle_cannot_allow_what_others_ask(make: Make, tmp_path: Path) -> None:
    class Asks(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> Ask:
            return Ask("look at it")

    h = make(Asks, Tools, model=BASH, answers=["Deny"])
    h.cli(f"bundles add {answering(tmp_path / 'demo', 'allow')} --yes")
    assert first_result(h).startswith("Denied: ")
    assert h.plugin(Tools).calls == []


def test_hook_of_a_bundle_can_ask(make: Make, tmp_path: Path) -> None:
    h = make(Tools, model=BASH, answers=["Allow once"])
    h.cli(f"bundles add {answering(tmp_path / 'demo', 'ask')} --yes")
    assert first_result(h) == "ran"
    assert "emo: why" in h.questions[0].text


def test_permission_request_of_a_bundle_denies_but_never_allows(make: Make, tmp_path: Path) -> None:
    class Asks(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> Ask:
            return Ask("look at it")

    allow = {"hookSpecificOutput": {"decision": {"behavior": "allow"}}}
    plugin = claude_plugin(
        tmp_path / "demo", PermissionRequest=[{"command": "cat ${CLAUDE_PLUGIN_ROOT}/answer.json"}]
    )
    write_json(plugin / "answer.json", allow)
    h = make(Asks, Tools, model=BASH, answers=["Deny"])
    h.cli(f"bundles add {plugin} --yes")
    assert first_result(h).startswith("Denied: ")


def test_other_exit_code_of_a_bundle_hook_is_a_notice(make: Make, tmp_path: Path) -> None:
    plugin = claude_plugin(tmp_path / "demo", PreToolUse=[{"matcher": "Bash", "command": "exit 1"}])
    h = make(Tools, model=BASH)
    h.cli(f"bundles add {plugin} --yes")
    outcome = h.send("go")
    assert outcome.tool_calls[0].text == "ran"
    assert any("exit code 1" in notice.text for notice in outcome.notices)


def test_matcher_of_plain_names_has_to_be_equal(make: Make, tmp_path: Path) -> None:
    plugin = claude_plugin(
        tmp_path / "demo", PreToolUse=[{"matcher": "Edit|Write", "command": "exit 2"}]
    )
    model = [[calls("bash", command="ls"), calls("write_file", path="a", content="")], "done"]
    h = make(Tools, model=model)
    h.cli(f"bundles add {plugin} --yes")
    results = [result.text for result in h.send("go").tool_calls]
    assert results[0] == "ran"
    assert results[1].startswith("Denied: demo")
