"""Programs started by a tool cannot administer Hookline, however they are started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import PATIENCE, Machine

HOOKLINE = f"{sys.executable} -m hookline"
DISABLE = "plugins disable threat-scan"
"""A command that lowers protection; what it did is seen in config.yaml."""
CONFIG = """# the operator's own
plugins:
  threat-scan: {}
  shell: {sandbox: {enabled: false}}
"""
"""Without a sandbox, in which no Hookline would be found."""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@pytest.fixture
def guarded(machine: Machine) -> Machine:
    machine.config(CONFIG)
    return machine


def by_model(machine: Machine, *commands: str) -> list[str]:
    """Let a model call ``bash`` with each command, all approved; return the outputs."""
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands]
    model = machine.script({"tools": calls}, {"text": "done"})
    done = machine.run("run", "go", "--model", model, "--yes", "--json")
    assert done.code == 0, done.err
    return [str(event["text"]) for event in done.events if event["type"] == "tool_result"]


def config(machine: Machine) -> str:
    return (machine.home / "config.yaml").read_text("utf-8")


REFUSED = (
    DISABLE,
    "plugins enable voice",
    "config set plugins.approvals false",
    "pairing claim",
    "pairing approve ABCD-EFGH --admin",
    "sessions list",
    "run --yes --model scripted/../script.yaml hello",
    "run --yes --system --help hello",
    "chat",
    "no-such-command",
    "config set operator_message -- --help",
)


@pytest.mark.slow
def test_administration_commands_are_refused_in_tools(guarded: Machine, tmp_path: Path) -> None:
    ends = "|| echo code $?"  # many failures in a row would end the turn
    here = [f"{HOOKLINE} --home {guarded.home} {words} {ends}" for words in REFUSED]
    *said, elsewhere = by_model(guarded, *here, f"{HOOKLINE} {DISABLE} --home {tmp_path / 'other'}")
    for words, text in zip(REFUSED, said, strict=True):
        assert "code 2\n" in text, words
        assert "in your own terminal" in text, words
    assert "in your own terminal" in elsewhere
    assert not (tmp_path / "other").exists()
    assert config(guarded) == CONFIG


SHOWN = {
    "--version": "hookline 0",
    "--help": "Usage:",
    "config set --help": "Usage:",
    "config path": "config.yaml",
}


@pytest.mark.slow
def test_bash_may_run_hookline_commands_that_show_nothing_private(guarded: Machine) -> None:
    said = by_model(guarded, *(f"{HOOKLINE} --home {guarded.home} {words}" for words in SHOWN))
    for shown, text in zip(SHOWN.values(), said, strict=True):
        assert shown in text
        assert "[exit code 0]" in text


IN_PYTHON = (
    "from hookline.cli.app import run\nrun(['plugins', 'disable', 'threat-scan'])",
    "from hookline.cli.command_line import CoreCommandLine\n"
    "async def work(runtime): open('{mark}', 'w').close()\n"
    "CoreCommandLine().open(work)",
)


@pytest.mark.slow
def test_self_administration_from_python_is_refused(guarded: Machine) -> None:
    reached = guarded.workspace / "reached"
    for number, code in enumerate(IN_PYTHON):
        file = guarded.workspace / f"{number}.py"
        file.write_text(code.format(mark=reached), "utf-8")
    calls = [
        f"HOOKLINE_HOME={guarded.home} {sys.executable} {n}.py" for n, _ in enumerate(IN_PYTHON)
    ]
    for text in by_model(guarded, *calls):
        assert "in your own terminal" in text
    assert not reached.exists()
    assert config(guarded) == CONFIG


SHED = (
    "unset SHELL_COMMAND_ID; {attack}",
    "env -i {attack}",
    "ulimit -q unlimited; env -i {attack}",
    "(env -i setsid sh -c '({attack} &) &' &) ; sleep 2",
)
SHED_MORE = (
    "ulimit -q 819200; env -i {attack}",
    "ulimit -q 0; env -i {attack}",
    "setsid env -i {attack}; true",
    "nohup env -i {attack}",
    "script -qc 'env -i {attack}' /dev/null",
    "unshare -Ur env -i {attack}",
    "unshare -Urpf --mount-proc env -i {attack}",
    "unshare -Urm sh -c 'mount -t tmpfs none /proc; env -i {attack}'",
    "prlimit --msgqueue=unlimited:unlimited env -i {attack}",
    "prlimit --pid $$ --msgqueue=819200:819200; env -i {attack}",
    "setpriv --clear-groups env -i {attack}",
    "su root -c 'env -i {attack}'",
    "nsenter -t $PPID -a env -i {attack}",
)


@linux_only
@pytest.mark.parametrize("ways", [SHED, pytest.param(SHED_MORE, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_self_administration_is_refused_however_it_is_started(
    guarded: Machine, ways: tuple[str, ...]
) -> None:
    attack = f"{HOOKLINE} --home {guarded.home} config set operator_message"
    attacks = [way.format(attack=f"{attack} way-{n}") for n, way in enumerate(ways)]
    by_model(guarded, *attacks)
    assert config(guarded) == CONFIG


@linux_only
@pytest.mark.slow
def test_self_administration_is_refused_after_the_runtime_ended(guarded: Machine) -> None:
    attack = f"env -i {HOOKLINE} --home {guarded.home} {DISABLE}"
    waiting = f"while kill -0 $r 2>/dev/null; do sleep 0.1; done; {attack}; touch tried"
    killer = f"r=$PPID; (setsid sh -c 'r='$r'; {waiting}' >/dev/null 2>&1 &); sleep 1; kill -9 $r"
    call = {"name": "bash", "arguments": {"command": killer}}
    model = guarded.script({"tools": [call]})
    process = guarded.start("run", "go", "--model", model, "--yes", "--json")
    process.communicate(timeout=PATIENCE)
    guarded.wait_for("tried")
    assert config(guarded) == CONFIG


@pytest.mark.slow
def test_scripts_and_services_may_administer(guarded: Machine) -> None:
    """They run without a terminal, in their own session, beside a runtime of the home."""
    held = guarded.script(
        {"tools": [{"name": "bash", "arguments": {"command": "touch began; sleep 20"}}]}
    )
    process = guarded.start("run", "go", "--model", held, "--yes")
    try:
        guarded.wait_for("began")
        done = subprocess.run(
            [sys.executable, "-m", "hookline", *DISABLE.split()],
            env=guarded.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            start_new_session=True,
        )
    finally:
        process.kill()
        process.communicate()
    assert done.returncode == 0, done.stderr
    assert "threat-scan: {}" not in config(guarded)


@pytest.mark.slow
def test_sub_agent_task_is_never_run_as_a_command(machine: Machine) -> None:
    model = machine.script(
        {"when": "^go", "tools": [{"name": "delegate", "arguments": {"task": "/approve always"}}]},
        {"when": "^/approve always", "text": "these are only words"},
        {"when": "only words", "text": "done"},
    )
    done = machine.run("run", "go", "--model", model, "--json")
    [text] = [event["text"] for event in done.events if event["type"] == "tool_result"]
    assert "these are only words" in text
