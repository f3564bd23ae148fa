"""``config show``, ``get``, ``check``, ``schema``, ``unset`` and ``edit``."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml
from hookline.testing import Harness
from support.terminal import TerminalScreen

from .conftest import WRITTEN, RunCli


def test_get_prints_plain_value_for_scripts(line: RunCli) -> None:
    for key, shown in (
        ("model", "anthropic/claude-sonnet-4-5\n"),
        ("session.idle_hours", "24.0\n"),
        ("trace", "false\n"),
        ("auxiliary_model", "null\n"),
        ("plugins.titles", "false\n"),
        ("session", "idle_hours: 24.0\nmax_days: 30.0\n"),
        ("providers.openai.api_key", "********\n"),
        ("plugins.telegram.token", "********\n"),
    ):
        done = line("config", "get", key)
        assert (done.exit_code, done.stdout, done.stderr) == (0, shown, "")
    assert json.loads(line("config", "get", "model", "--json").stdout).startswith("anthropic/")


@pytest.mark.parametrize("key", ["nothing", "session.nothing", "model.nothing", "", "."])
def test_get_of_unknown_key_exits_2(line: RunCli, key: str) -> None:
    done = line("config", "get", key)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "`hookline config show` prints all of it" in done.stderr


def test_show_masks_secrets_and_warns(line: RunCli, path: Path) -> None:
    path.write_text(WRITTEN + "colour: red\n")
    done = line("config", "show")
    assert "colour: unknown key, ignored." in done.stderr
    shown = yaml.safe_load(done.stdout)
    assert shown["providers"]["openai"]["api_key"] == "********"
    assert shown["max_iterations"] == 90
    assert "sk-1" not in done.stdout
    assert json.loads(line("config", "show", "--json").stdout) == shown


def test_unset_removes_a_key_with_its_comment_and_leaves_the_others(
    line: RunCli, path: Path
) -> None:
    done = line("config", "unset", "session.max_days")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"Removed session.max_days from {path}\n"
    assert path.read_text() == WRITTEN.replace("  max_days: 30 # a month\n", "")
    assert line("config", "get", "session.max_days").stdout == "30.0\n"


def test_section_without_keys_is_kept_after_unset(line: RunCli, path: Path) -> None:
    line("config", "unset", "plugins.memory.notes_max_chars")
    left = WRITTEN.replace("  memory:\n", "  memory: {}\n")
    assert path.read_text() == left.replace("    notes_max_chars: 2200   # characters\n", "")
    assert line("config", "get", "plugins.memory").stdout == "true\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("session", "session:\n  idle_hours: 3\n\n# end\n", "\n# end\n"),
        ("network.allow_hosts", "network:\n  allow_hosts:\n  - a\n  - b\n", "network: {}\n"),
        (
            "operator_message",
            "operator_message: |\n  # no comment\n\n  text\ntrace: true\n",
            "trace: true\n",
        ),
        (
            "providers.openai.api_key",
            "providers: {openai: {api_key: '${K:-}'}}\n",
            "providers: {openai: {}}\n",
        ),
        (
            "plugins.web",
            "plugins: {titles: false, web: true} # x\n",
            "plugins: {titles: false} # x\n",
        ),
        ("trace", "trace: true", ""),
    ],
)
def test_unset_removes_every_form_of_key(
    line: RunCli, path: Path, key: str, before: str, after: str
) -> None:
    path.write_text(before)
    done = line("config", "unset", key)
    assert (done.exit_code, done.stderr) == (0, "")
    assert path.read_text() == after


@pytest.mark.parametrize("key", ["trace", "session.nothing", "model.nothing", "plugins.titles.x"])
def test_unset_of_missing_key_exits_2(line: RunCli, path: Path, key: str) -> None:
    done = line("config", "unset", key)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"hookline: {key} is not in {path}, so there is nothing to remove.\n"
    assert path.read_text() == WRITTEN


def test_unset_that_would_lose_comments_is_refused(line: RunCli, path: Path) -> None:
    text = "plugins: {titles: false, # dull\n  web: true}\n"
    path.write_text(text)
    done = line("config", "unset", "plugins.titles")
    assert done.exit_code == 2
    assert "its comments would be lost" in done.stderr
    assert path.read_text() == text


@pytest.mark.slow
def test_unset_removes_an_invalid_value(process: RunCli, path: Path) -> None:
    path.write_text("trace: true\nmax_iterations: lots\n")
    assert process("config", "check").exit_code == 2
    assert process("config", "unset", "max_iterations").exit_code == 0
    assert process("config", "check").stdout == f"{path}: no errors\n"


def test_schema_and_path_are_printed(line: RunCli, path: Path) -> None:
    assert "session" in json.loads(line("config", "schema").stdout)["properties"]
    assert line("config", "path").stdout == f"{path}\n"


def editor(folder: Path, code: str) -> str:
    """A program that runs Python code with the file's path as ``path``."""
    program = folder / "my editor"
    head = f"#!{sys.executable}\nimport sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n"
    program.write_text(f"{head}{code}\n")
    program.chmod(0o755)
    return f"'{program}' --wait"


@pytest.mark.slow
def test_edit_opens_the_file_and_checks_it(
    process: RunCli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "path.write_text('max_iterations: lots')"))
    path.unlink()
    done = process("config", "edit")
    assert done.exit_code == 2
    assert f"{path}:1: max_iterations: expected" in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("VISUAL", editor(tmp_path, "path.write_text('max_iterations: 7')"))
    done = process("config", "edit")
    assert (done.exit_code, done.stdout) == (0, f"{path}: no errors\n")


@pytest.mark.slow
def test_edit_offers_to_edit_again_or_to_restore(
    configured: Harness, path: Path, tmp_path: Path
) -> None:
    code = "path.write_text('max_iterations: ' + ('7' if 'lots' in path.read_text() else 'lots'))"
    env = {name: text for name, text in os.environ.items() if "HOOKLINE_" not in name}
    env |= {"VISUAL": editor(tmp_path, code), "HOOKLINE_HOME": str(configured.home)}
    argv = [sys.executable, "-m", "hookline", "config", "edit"]
    with TerminalScreen(argv, env=env, cwd=tmp_path) as screen:
        screen.wait_for("max_iterations: expected")
        screen.wait_for("[e]dit again")
        screen.type("\r")
        assert screen.end() == 0
    assert path.read_text() == "max_iterations: 7"
    with TerminalScreen(argv, env=env, cwd=tmp_path) as screen:
        screen.wait_for("[e]dit again")
        screen.type("r\r")
        assert screen.end() == 0
    assert path.read_text() == "max_iterations: 7"


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [("no-such-editor", 2, "Set EDITOR"), ("'", 2, "Set EDITOR"), ("false", 1, "exit code 1")],
)
def test_failed_editor_is_reported(
    line: RunCli, monkeypatch: pytest.MonkeyPatch, command: str, code: int, told: str
) -> None:
    monkeypatch.setenv("VISUAL", command)
    done = line("config", "edit")
    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr
