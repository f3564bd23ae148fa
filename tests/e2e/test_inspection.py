"""``--help``, ``--version``, ``plugins``, ``hooks``, ``prompt``, ``doctor``: what they show."""

from __future__ import annotations

import hashlib
from importlib.metadata import metadata

import hookline
import pytest
from hookline_hookspecs import HOOKS
from support.machine import FIRST_REQUEST_TOKENS, Machine


@pytest.mark.slow
def test_version_and_usage_error(machine: Machine) -> None:
    assert machine.run("--version").out == f"hookline {hookline.__version__}\n"
    assert machine.run("frobnicate").code == 2
    assert machine.run("run").code == 2
    alone = machine.run()
    assert (alone.code, "Usage:" in alone.out) == (0, True)
    assert not machine.home.exists()


@pytest.mark.slow
def test_help_lists_plugin_commands(machine: Machine, all_plugins_load: None) -> None:
    helped = machine.run("--help")
    assert (helped.code, helped.err) == (0, "")
    words = helped.out.split()
    for command in ("run", "chat", "gateway", "plugins", "config", "doctor"):
        assert command in words
    for command in ("hooks", "prompt", "trace", "sessions", "demo", "init"):
        assert command in words
    first = [words.index(name) for name in ("init", "chat", "run", "sessions", "config", "hooks")]
    assert first == sorted(first)
    [group] = [line for line in helped.out.splitlines() if line.startswith("  memory ")]
    assert "undo" in group


@pytest.mark.slow
def test_plugins_list_and_info(machine: Machine, all_plugins_load: None) -> None:
    machine.config("plugins:\n  shell: false\n  nosuch-thing: {}\n")
    listed = machine.run("plugins", "list", "--json")
    assert listed.code == 0
    keys = {"name", "dist", "version", "kind", "state", "reason", "hooks"}
    rows = {row["name"]: row for row in listed.json}
    assert all(set(row) == keys for row in rows.values())
    assert (rows["files"]["dist"], rows["files"]["state"]) == ("hookline-files", "on")
    assert rows["files"]["kind"] == "standard"
    assert rows["shell"]["state"] == "off"
    assert rows["nosuch-thing"]["state"] == "missing"
    reason = rows["nosuch-thing"]["reason"]
    assert "hookline plugins enable nosuch-thing" in reason
    assert "hookline-nosuch-thing" not in reason  # a package of that name may be anybody's
    assert "memory" not in rows or rows["memory"]["dist"]
    assert {row["state"] for row in rows.values()} <= {"on", "off", "missing", "failed"}
    info = machine.run("plugins", "info", "files", "--json").json
    assert any("read_file" in tool for tool in info["tools"])
    assert info["summary"] == metadata("hookline-files")["Summary"]
    assert "home_page" in info
    near = machine.run("plugins", "info", "flies")
    assert (near.code, "flies" in near.err) == (2, True)


@pytest.mark.slow
def test_hooks_command_lists_implementations(machine: Machine) -> None:
    rows = machine.run("hooks", "--json").json
    assert [row["name"] for row in rows] == list(HOOKS)
    assert all(set(row) == {"name", "kind", "deadline", "impls"} for row in rows)
    kinds = {row["name"]: (row["kind"], row["deadline"]) for row in rows}
    assert kinds["pre_tool"] == ("guard", 5)
    assert kinds["around_tool"] == ("around", None)
    (one,) = machine.run("hooks", "pre_tool", "--json").json
    assert "shell" in one["impls"]
    wrong = machine.run("hooks", "pre_tol")
    assert (wrong.code, "Did you mean pre_tool?" in wrong.err) == (2, True)


@pytest.mark.slow
def test_prompt_command_token_counts_add_up(machine: Machine) -> None:
    machine.config("operator_message: Mind the wombats.\n")
    found = machine.run("prompt", "--json").json
    assert set(found) >= {"system", "tools", "sha256", "tokens", "by_plugin"}
    assert "Mind the wombats." in found["system"]
    digest = hashlib.sha256(found["system"].encode()).hexdigest()
    assert found["sha256"]["system"] == digest
    assert {tool["name"] for tool in found["tools"]} >= {"read_file", "bash"}
    assert all(set(p) == {"plugin", "section", "chars", "tokens"} for p in found["by_plugin"])
    assert {"core", "files", "shell"} <= {part["plugin"] for part in found["by_plugin"]}
    assert 0 < found["tokens"]["total"] < FIRST_REQUEST_TOKENS
    assert "Mind the wombats." in machine.run("prompt").out


@pytest.mark.slow
def test_turn_is_traced_only_with_trace_on(hello_machine: Machine) -> None:
    assert hello_machine.run("run", "hello", "--session", "s").code == 0
    untold = hello_machine.run("trace")
    assert (untold.code, untold.out, "--trace" in untold.err) == (1, "", True)
    assert hello_machine.run("run", "hello", "--session", "s", "--trace", "--no-wait").code == 0
    tree = hello_machine.run("trace", "s", "--turn", "2", "--json").json
    keys = {"type", "name", "plugin", "ms", "changed", "verdict", "reason", "children"}
    assert (set(tree), tree["type"], tree["verdict"]) == (keys, "turn", "done")
    assert "model scripted/" in hello_machine.run("trace").out
    assert hello_machine.run("trace", "s", "--turn", "1").code == 2


@pytest.mark.slow
def test_doctor_on_a_fresh_home_misses_only_a_model(
    machine: Machine, all_plugins_load: None
) -> None:
    done = machine.run("doctor", "--json")
    assert all(set(row) == {"name", "plugin", "ok", "detail", "fix"} for row in done.json)
    (bad,) = [row for row in done.json if not row["ok"]]
    assert (bad["name"], bad["fix"]) == ("model", "hookline init")
    assert done.code == 1
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello"})
    assert machine.run("doctor").code == 0


@pytest.mark.slow
def test_doctor_finds_problems(machine: Machine) -> None:
    machine.config("model: nosuch/thing\nsesion: 1\nplugins: {ghost: true}\n")
    (machine.home / ".env").write_text("OPENAI_API_KEY=sk-secret-of-mine\n")
    (machine.home / ".env").chmod(0o644)
    machine.home.chmod(0o755)
    done = machine.run("doctor", "--json")
    assert done.code == 1
    bad = {row["name"]: row for row in done.json if not row["ok"]}
    assert {"config", "model", "secrets file", "home", "plugins"} <= set(bad)
    assert all(row["fix"] for row in bad.values())
    assert "chmod 600" in bad["secrets file"]["fix"]
    assert "sk-secret-of-mine" not in done.out + done.err
