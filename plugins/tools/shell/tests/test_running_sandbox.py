"""The sandbox of a session: what lives on between commands, and what ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_shell import Shell

SERVE = "python3 -m http.server 8123 --bind 127.0.0.1 > log 2>&1 &"
ASK = "for i in {1..50}; do exec 3<>/dev/tcp/127.0.0.1/8123 && break; sleep .1; done 2>/dev/null"


@pytest.fixture(params=["sandboxes", pytest.param("namespaces", marks=pytest.mark.slow)])
def shell(
    request: pytest.FixtureRequest, make_plugin: Callable[..., Shell], tmp_path: Path
) -> Shell:
    request.getfixturevalue(request.param)
    made = make_plugin(sandbox={"enabled": True})
    made.host.home = tmp_path / "hookline"
    return made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def ctx(work: Path, make_context: Callable[..., Any]) -> Any:
    return make_context(work)


async def test_server_is_asked_and_ended_by_later_commands(shell: Shell, ctx: Any) -> None:
    started = await shell.bash(ctx, SERVE)
    assert "running in the background" in started.notes[0]
    assert (await shell.bash(ctx, f"{ASK}; [[ -e /proc/self/fd/3 ]]")).ok
    ended = await shell.bash(ctx, "pkill python3; sleep .3; echo x > /tmp/y; cat /tmp/y")
    assert ended.text == "x\n[exit code 0]"
    assert ended.notes == ()
    assert not (await shell.bash(ctx, "exec 3<>/dev/tcp/127.0.0.1/8123")).ok


async def test_job_is_ended_by_its_number(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "(trap '' TERM; sleep 1000) & sleep 1000 & sleep 0")
    (pid,) = result.data["jobs"]
    await shell.bash(ctx, f"kill -9 -- -{pid}; sleep .1")
    assert not (await shell.bash(ctx, "pgrep sleep")).ok


async def test_origins_do_not_share_a_sandbox(
    shell: Shell, ctx: Any, work: Path, make_context: Callable[..., Any]
) -> None:
    await shell.bash(ctx, "sleep 1000 & echo x > /tmp/own")
    others = [{"session": "s2"}, {"operator": False}]
    for fields in others:
        result = await shell.bash(make_context(work, **fields), "pgrep sleep || ls /tmp")
        assert "own" not in result.text
        assert result.text == "[exit code 0]"


async def test_sandbox_that_died_is_started_anew(shell: Shell, ctx: Any) -> None:
    killed = await shell.bash(ctx, "sleep 1000 & kill -9 2 $PPID; sleep 10")
    assert killed.text.endswith("[exit code 137]")
    assert (await shell.bash(ctx, "pgrep sleep; echo fine")).text == "fine\n[exit code 0]"


async def test_new_or_replaced_secret_is_hidden(shell: Shell, ctx: Any, work: Path) -> None:
    await shell.bash(ctx, "sleep 1000 &")
    (work / ".env").write_text("KEY=very-secret")
    first = await shell.bash(ctx, "cat .env")
    assert "very-secret" not in first.text
    assert "started anew" in first.notes[0]
    (work / "new").write_text("KEY=very-secret")
    (work / "new").rename(work / ".env")
    assert "very-secret" not in (await shell.bash(ctx, "cat .env")).text


async def test_change_by_a_background_process_is_put_back(
    shell: Shell, ctx: Any, work: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    await shell.bash(ctx, "(sleep .3; git config core.fsmonitor ./evil; sleep 1000) & true")
    config = work / ".git" / "config"
    async with asyncio.timeout(20):
        while "fsmonitor" not in config.read_text():
            await asyncio.sleep(0.05)
    await shell.bash(ctx, "true")
    assert "fsmonitor" not in config.read_text()
    assert "core.fsmonitor" in ctx.told[0]


async def test_change_by_a_person_between_commands_stays(
    shell: Shell, ctx: Any, work: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    await shell.bash(ctx, "true")
    subprocess.run(["git", "-C", str(work), "remote", "add", "origin", "../x"], check=True)
    (work / "AGENTS.md").write_text("mine")
    result = await shell.bash(ctx, "git config user.name Ada")
    assert result.notes == ()
    assert "../x" in (work / ".git" / "config").read_text()
    assert (work / "AGENTS.md").read_text() == "mine"


async def test_end_of_session_ends_its_processes(shell: Shell, ctx: Any, work: Path) -> None:
    await shell.bash(ctx, "while :; do date +%N > beat; sleep .05; done & echo x > /tmp/x")
    await shell.end_of_session(ctx, ctx.session)
    last = (work / "beat").read_text()
    await asyncio.sleep(0.3)
    assert (work / "beat").read_text() == last
    assert not (await shell.bash(ctx, "cat /tmp/x")).ok


async def test_commands_run_side_by_side(shell: Shell, ctx: Any) -> None:
    meet = "touch {0}; for i in {{1..100}}; do [[ -e {1} ]] && exit; sleep .05; done; exit 1"
    results = await asyncio.gather(
        shell.bash(ctx, meet.format("a", "b")), shell.bash(ctx, meet.format("b", "a"))
    )
    assert all(result.ok for result in results)


async def test_long_command_and_environment_are_passed(shell: Shell, ctx: Any) -> None:
    text = "ü" * 60_000
    result = await shell.bash(ctx, f"printf %s {text} | wc -m")
    assert result.text == "60000\n[exit code 0]"


KILLED = """
import asyncio, signal, sys
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it, and children inherit that
from plugins.tools.shell.tests.conftest import context, plugin
async def main():
    shell = plugin(sandbox={"enabled": True})
    await shell.bash(context(Path(sys.argv[1])),
        "(trap '' HUP TERM; while :; do date +%N > beat; sleep .05; done) & setsid sleep 1000 &")
    print("ready", flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_everything_ends_with_the_process(
    sandboxes: None, work: Path, number: signal.Signals
) -> None:
    root = Path(__file__).parents[4]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(work)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=20)
    last, still = "", time.monotonic() + 20
    while (now := (work / "beat").read_text()) != last:
        assert time.monotonic() < still, "a background process lives on"
        last = now
        time.sleep(0.5)
