"""Permission rules and the guard of commands together: what a person's rule answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.testing import Harness, calls, guarded_paths
from hookline_hookspecs import ToolCall
from hookline_permissions import Permissions
from hookline_permissions.packaged_rules import packaged_rules
from hookline_permissions.rule_set import RuleSet
from hookline_shell import Shell

DATA = Path(__file__).parents[3] / "plugins" / "tools" / "shell" / "tests" / "data"
MakeHarness = Callable[..., Harness]


def run(h: Harness, *commands: str) -> list[str]:
    """The results of commands with nobody to ask."""
    h.model.steps += [*(calls("bash", command=command) for command in commands), "done"]
    return [result.text for result in h.send("go", approve="no").tool_calls]


def config(*allow: str, **shell: Any) -> dict[str, Any]:
    sandbox = {"enabled": False}
    return {"permissions": {"allow": list(allow)}, "shell": {"sandbox": sandbox, **shell}}


def test_allow_rule_answers_the_question_of_the_command_guard(harness: MakeHarness) -> None:
    h = harness(Permissions, Shell, config=config("bash(mkdir *)", "bash(cp -r * ../beside)"))
    h.workspace.mkdir(parents=True)
    beside, other = run(h, "mkdir a && cp -r a ../beside", "cp -r a ../other")
    assert beside.endswith("[exit code 0]")
    assert (h.workspace.parent / "beside").is_dir()
    assert other.startswith("Denied: This needs a person's approval: ")


def test_readers_of_the_system_need_no_question(harness: MakeHarness) -> None:
    h = harness(Permissions, Shell, config=config())
    h.workspace.mkdir(parents=True)
    hosts, home, keys, own = run(
        h,
        "cat /etc/hosts | head -1",
        "ls ~ > /dev/null; ls /usr/share | wc -l",
        "cat ~/.ssh/id_rsa",
        f"cat {h.home}/config.yaml",
    )
    assert hosts.endswith("[exit code 0]")
    assert home.endswith("[exit code 0]")
    assert keys.startswith("Denied: ")
    assert own.startswith("Denied: ")


def test_no_rule_answers_for_dangerous_patterns_or_for_hookline_itself(
    harness: MakeHarness,
) -> None:
    settings = config("bash", dangerous_patterns=["deploy"])
    h = harness(Permissions, Shell, config=settings)
    h.workspace.mkdir(parents=True)
    dangerous, own = run(h, "echo deploy", "hookline config set trace true")
    assert "'deploy' is on the list of dangerous commands" in dangerous
    assert own.startswith("Denied: ")


def test_without_the_plugin_permissions_the_question_stays(harness: MakeHarness) -> None:
    h = harness(Shell, config={"sandbox": {"enabled": False}})
    h.workspace.mkdir(parents=True)
    assert run(h, "cat /etc/hosts")[0].startswith("Denied: ")


def test_check_names_the_verdict_the_rule_and_where_it_stands(harness: MakeHarness) -> None:
    settings = config("bash(mkdir *)")
    settings["permissions"] |= {"deny": ["bash(git push *)"], "ask": ["write_file(src/**)"]}
    h = harness(Permissions, Shell, config=settings)

    def check(tool: str, **arguments: str) -> tuple[str, str, str]:
        done = h.cli(f"permissions check {tool} '{json.dumps(arguments)}' --json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        assert set(found) == {"verdict", "rule", "where", "sandboxed"}
        assert found["sandboxed"] is False
        return found["verdict"], found["rule"], found["where"]

    assert check("bash", command="mkdir a") == ("allow", "bash(mkdir *)", "config.yaml")
    assert check("bash", command="ls; git push") == ("deny", "bash(git push *)", "config.yaml")
    assert check("write_file", path="src/a") == ("ask", "write_file(src/**)", "config.yaml")
    assert check("bash", command="cp -r a ../x") == ("ask", "", "shell")
    assert check("bash", command="make") == ("allow", "", "mode auto")
    assert check("bash", command="cat /etc/hosts")[::2] == ("allow", "packaged")
    assert h.cli("permissions check bash 5").stderr.startswith("hookline: expected the arguments")
    assert "not JSON" in h.cli("permissions check bash x").stderr


def _commands(name: str) -> list[str]:
    text = (DATA / name).read_text("utf-8")
    if name.endswith(".txt"):
        return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = yaml.load(text, yaml.CSafeLoader)
    groups = found if isinstance(found, list) else [one for rows in found.values() for one in rows]
    return [one for one in groups if isinstance(one, str)]


@pytest.fixture
def decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """What the packaged rules alone decide about a command."""
    home = tmp_path / "person"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    rules = RuleSet(one.rule for one in packaged_rules())
    paths = guarded_paths(home / "work", home / ".hookline")
    return lambda command: rules.decide(ToolCall("1", "bash", {"command": command}), paths)


@pytest.mark.parametrize("name", ["hostile.classes.yaml", "hostile.variants.yaml"])
def test_no_hostile_command_is_on_the_list_of_readers(
    decide: Callable[[str], Any], name: str
) -> None:
    commands = _commands(name)
    assert len(commands) > 100
    assert [one for one in commands if decide(one).kind == "allow"] == []


def test_ordinary_commands_are_not_denied_and_rarely_asked_about(
    decide: Callable[[str], Any],
) -> None:
    commands = [*_commands("ordinary.txt"), *_commands("everyday.classes.yaml")]
    started = time.process_time()
    found = {one: decide(one) for one in commands}
    assert (time.process_time() - started) / len(commands) < 0.015
    assert [one for one, decision in found.items() if decision.kind == "deny"] == []
    asked = [one for one, d in found.items() if d.kind == "ask" and not d.rule.restorable]
    assert len(asked) <= 3, asked
