"""``hookline config``, ``plugins enable|disable``, and errors of a wrong config.yaml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.machine import Machine
from support.terminal import TerminalScreen

COMMENTED = """\
# my agent
model: openai/gpt-5   # the good one

plugins:
  # hands
  files: {read_max_chars: 5000}   # not too much
  shell: false
session:
  idle_hours: 12  # half a day
"""


@pytest.mark.slow
def test_config_path_prints_the_file(machine: Machine, tmp_path: Path) -> None:
    assert machine.run("config", "path").out == f"{machine.home / 'config.yaml'}\n"
    other = tmp_path / "other home"
    assert machine.run("--home", other, "config", "path").out == f"{other / 'config.yaml'}\n"
    assert machine.run("config", "path", f"--home={other}").out == f"{other / 'config.yaml'}\n"
    for nothing in ("--home", "--home="):
        refused = machine.run("config", "path", nothing)
        assert (refused.code, refused.err) == (2, "hookline: --home needs a folder\n")
    without = machine.run("config", "path", env={"HOOKLINE_HOME": ""})
    assert without.out == f"{tmp_path / '.hookline' / 'config.yaml'}\n"


@pytest.mark.slow
def test_config_set_keeps_comments_and_order(machine: Machine) -> None:
    path = machine.config(COMMENTED)
    done = machine.run("config", "set", "session.idle_hours", "48")
    assert done.code == 0, done.err
    assert path.read_text() == COMMENTED.replace("hours: 12", "hours: 48")
    assert machine.run("config", "show", "--json").json["session"]["idle_hours"] == 48
    wrong = machine.run("config", "set", "max_iterations", "many")
    assert wrong.code == 2
    assert "max_iterations" in wrong.err
    assert path.read_text() == COMMENTED.replace("hours: 12", "hours: 48")


@pytest.mark.slow
def test_plugins_enable_and_disable_keep_comments_and_settings(machine: Machine) -> None:
    path = machine.config(COMMENTED)
    assert machine.run("plugins", "disable", "files").code == 0
    assert machine.run("plugins", "enable", "shell").code == 0
    text = path.read_text()
    for comment in ("# my agent", "# the good one", "# hands", "# not too much", "# half a day"):
        assert comment in text
    assert list(yaml.safe_load(text)) == ["model", "plugins", "session"]
    rows = {row["name"]: row["state"] for row in machine.run("plugins", "list", "--json").json}
    assert (rows["files"], rows["shell"]) == ("off", "on")
    assert machine.run("plugins", "enable", "files").code == 0
    assert yaml.safe_load(path.read_text())["plugins"]["files"]["read_max_chars"] == 5000
    assert machine.run("plugins", "disable", "nosuch").code == 2


@pytest.mark.slow
def test_config_set_creates_the_file(machine: Machine) -> None:
    assert machine.run("config", "set", "operator_message", "Grüße an alle").code == 0
    path = machine.home / "config.yaml"
    assert yaml.safe_load(path.read_text("utf-8")) == {"operator_message": "Grüße an alle"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert machine.home.stat().st_mode & 0o777 == 0o700


WRONG = {
    "max_iterations: 012": ("1", "max_iterations", "012"),
    "session:\n  idle_hours: on": ("2", "session.idle_hours", "number"),
    "trace: true\nmodel: a/b\ntrace: false": ("3", "trace", "line 1"),
    "plugins: [files]": ("1", "plugins", "mapping"),
    "model: ${NOT_SET_ANYWHERE}": ("1", "model", "NOT_SET_ANYWHERE"),
    "trace: true\n\tmodel: a/b": ("2", "", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", WRONG)
def test_config_error_names_file_line_and_key(machine: Machine, text: str) -> None:
    path = machine.config(text + "\n")
    machine.without.clear()
    line, key, words = WRONG[text]
    done = machine.run("run", "hello")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"hookline: {path}:{line}")
    assert key in done.err
    assert words in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run hello", "gateway", "memory list"])
def test_config_error_is_printed_once(machine: Machine, command: str) -> None:
    machine.config("model: nowhere\n")
    done = machine.run(*command.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.count("config.yaml:1: model:") == 1


@pytest.mark.slow
def test_config_check_schema_and_help_work_with_an_invalid_config(machine: Machine) -> None:
    path = machine.config("max_iterations: lots\n")
    check = machine.run("config", "check")
    assert (check.code, f"{path}:1: max_iterations:" in check.err) == (2, True)
    schema = machine.run("config", "schema").json
    assert {"model", "plugins", "providers", "session"} <= set(schema["properties"])
    helped = machine.run("--help")
    assert (helped.code, "config" in helped.out) == (0, True)
    assert machine.run("config", "set", "max_iterations", "5").code == 0
    assert machine.run("config", "check").code == 0


@pytest.mark.slow
def test_config_check_reports_every_problem_once(machine: Machine) -> None:
    path = machine.config(
        "model: opnai/gpt\n"
        "colour: red\n"
        "providers:\n"
        "  local: {driver: antropic, base_url: http://localhost:1/v1}\n"
        "plugins:\n"
        "  weather: true\n"
        "  files: 7\n"
        "  skills: {colour: red}\n"
    )
    machine.without.clear()
    done = machine.run("config", "check")
    assert (done.code, done.out) == (2, "")
    assert sorted(done.err.splitlines()) == sorted(
        [
            f"hookline: {path}:2: colour: unknown key, ignored.",
            f"hookline: {path}:8: plugins.skills.colour: unknown key, ignored.",
            f"hookline: {path}:1: model: provider 'opnai' is not installed; did you mean openai?",
            f"hookline: {path}:4: providers.local.driver: provider 'antropic' is not installed; "
            "did you mean anthropic?",
            "hookline: plugin weather is not on: not installed (hookline plugins enable weather)",
            f"hookline: plugin files is not on: {path}:7: plugins.files: expected true, "
            "false or a mapping of settings, got 7.",
        ]
    )


@pytest.mark.slow
def test_config_check_fails_for_unknown_keys_but_run_works(hello_machine: Machine) -> None:
    hello_machine.config("colour: red\nplugins: {skills: {colour: red}}\n")
    done = hello_machine.run("config", "check")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("unknown key") == 2
    assert hello_machine.run("run", "hello").code == 0


@pytest.mark.slow
def test_config_check_reports_all_problems_of_an_unusable_config(machine: Machine) -> None:
    path = machine.config(
        "max_iterations: lots\nworkspace: ${NOT_SET_ANYWHERE}\nsession: {idle_hours: -1, idl: 3}\n"
        "colour: red\nplugins:\n  files: 7\n  shell: {timeout: soon, tiemout: 3}\n"
    )
    machine.without.clear()
    done = machine.run("config", "check")
    assert (done.code, done.out) == (2, "")
    for told in (
        f"{path}:1: max_iterations: found",
        f"{path}:2: workspace: NOT_SET_ANYWHERE is not set",
        f"{path}:3: session.idle_hours: found -1",
        f"{path}:3: session.idl: unknown key",
        f"{path}:4: colour: unknown key",
        f"{path}:6: plugins.files: found 7",
        f"{path}:7: plugins.shell.timeout: found",
        f"{path}:7: plugins.shell.tiemout: unknown key",
    ):
        assert done.err.count(told) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai", "hookline: openai is a provider, not a plugin. Choose it with `model: openai/"),
        ("sqlite", "hookline: sqlite is a store, not a plugin. Choose it with `store: sqlite`"),
    ],
)
def test_plugins_enable_refuses_drivers(machine: Machine, name: str, told: str) -> None:
    path = machine.config("trace: false\n")
    done = machine.run("plugins", "enable", name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(told)
    assert path.read_text("utf-8") == "trace: false\n"


@pytest.mark.slow
def test_unknown_key_only_warns_with_a_suggestion(hello_machine: Machine) -> None:
    path = hello_machine.config("trace: false\nsesion: {idle_hours: 1}\n")
    done = hello_machine.run("run", "hello")
    assert (done.code, done.out) == (0, "hello\n")
    assert done.err.count(f"{path}:2: sesion: unknown key; did you mean session?") == 1


@pytest.mark.slow
def test_invalid_setting_switches_its_plugin_off(hello_machine: Machine) -> None:
    path = hello_machine.config("plugins:\n  files:\n    read_max_chars: lots\n")
    done = hello_machine.run("run", "hello")
    assert (done.code, done.out) == (0, "hello\n"), done.err
    (row,) = [
        r for r in hello_machine.run("plugins", "list", "--json").json if r["name"] == "files"
    ]
    assert row["state"] == "failed"
    assert f"{path}:3: plugins.files.read_max_chars:" in row["reason"]


@pytest.mark.slow
def test_yaml_words_no_and_on_become_text_or_boolean_by_key(machine: Machine) -> None:
    machine.config("operator_message: no\ntrace: on\nplugins: {files: no}\n")
    shown = machine.run("config", "show", "--json").json
    assert (shown["operator_message"], shown["trace"]) == ("no", True)
    assert shown["plugins"]["files"] is False


@pytest.mark.slow
def test_environment_overrides_the_config_file(machine: Machine) -> None:
    machine.config("max_iterations: 3\nsession: {idle_hours: 2}\nplugins: {files: true}\n")
    shown = machine.run(
        "config",
        "show",
        "--json",
        env={
            "HOOKLINE_MAX_ITERATIONS": "7",
            "HOOKLINE_SESSION__IDLE_HOURS": "1.5",
            "HOOKLINE_PLUGINS__FILES__READ_MAX_CHARS": "3000",
            "HOOKLINE_PLUGINS__SESSION_SEARCH": "false",
            "HOOKLINE_NETWORK__ALLOW_HOSTS": "[localhost, '*.example']",
        },
    ).json
    assert shown["max_iterations"] == 7
    assert shown["session"]["idle_hours"] == 1.5
    assert shown["plugins"]["files"] == {"read_max_chars": 3000}
    assert shown["plugins"]["session-search"] is False
    assert shown["network"]["allow_hosts"] == ["localhost", "*.example"]
    wrong = machine.run("run", "hello", env={"HOOKLINE_MAX_ITERATIONS": "012"})
    assert (wrong.code, "HOOKLINE_MAX_ITERATIONS" in wrong.err) == (2, True)


@pytest.mark.slow
def test_help_shows_plugin_commands_without_importing_plugins(tmp_path: Path) -> None:
    text = "plugins: {memory: false, scheduler: true, web-server: true}"
    (tmp_path / "config.yaml").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hookline", "--home", tmp_path, "--help"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert {"chat", "pairing", "gateway", "cron", "web"} <= set(done.stdout.split())
    assert "memory" not in done.stdout
    assert "hookline: warning" not in done.stderr
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    imported = {name.partition(".")[0] for name in lines}
    assert "hookline" in imported
    unused = {"hookline_memory", "hookline_run", "hookline_web_server"}
    assert not unused & imported
    assert "hookline_access.plugin" not in lines


@pytest.mark.slow
def test_error_on_a_terminal_wraps_between_words(machine: Machine) -> None:
    argv = [sys.executable, "-m", "hookline", "--home", str(machine.home), "config", "get", "modle"]
    with TerminalScreen(
        argv, env={**os.environ, **machine.env}, cwd=machine.home.parent, columns=40
    ) as screen:
        assert screen.end() == 2
        shown = screen.text.split()
    assert " ".join(shown).startswith("hookline: modle is not in the effective config;")
    assert {"effective", "config;", "config", "show`", "prints", "all"} <= set(shown)
