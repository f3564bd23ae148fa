"""The tool with real processes: output, exit codes, timeouts, cancellation, what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Tool, ToolError
from hookline_shell import Shell

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(shell: Shell, ctx: Any, command: str) -> AsyncIterator[asyncio.Task[Any]]:
    task = asyncio.create_task(shell.bash(ctx, command))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_output_ends_with_the_exit_code(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "echo hello")
    assert result.text == "hello\n[exit code 0]"
    assert result.ok


async def test_a_failing_command_is_not_ok_and_tells_its_code(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "echo oops >&2; exit 3")
    assert result.text == "oops\n[exit code 3]"
    assert not result.ok


async def test_stdout_and_stderr_keep_their_order(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert result.text.splitlines()[:4] == ["1", "2", "3", "4"]


async def test_a_command_killed_by_a_signal_tells_it_like_a_shell(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "kill -KILL $$")
    assert result.text.endswith(f"[exit code {128 + signal.SIGKILL}]")


async def test_stdin_is_empty(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "cat; read x; echo read $?")
    assert result.text == "read 1\n[exit code 0]"


async def test_unicode_and_binary_output_are_text(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, r"printf 'grüße 你好 🦊\n'; printf '\xff\xfe\n'")
    assert result.text == "grüße 你好 🦊\n\ufffd\ufffd\n[exit code 0]"


async def test_large_output_keeps_head_and_tail_and_says_what_is_missing(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    shell = make_plugin(max_output=10_000)
    result = await shell.bash(ctx, "echo first; head -c 1000000 /dev/zero | tr '\\0' é; echo last")
    assert result.text.startswith("first\n")
    assert result.text.endswith("last\n[exit code 0]")
    assert "characters left out" in result.text
    assert len(result.text) < 10_200


async def test_output_within_the_limit_is_whole(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    shell = make_plugin(max_output=10_000)
    result = await shell.bash(ctx, "seq 1 1500")
    assert result.text == "\n".join(map(str, range(1, 1501))) + "\n[exit code 0]"


async def test_a_flood_ends_at_the_timeout_within_bounds(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "yes 0123456789", timeout=0.5)
    assert "[timed out after 0.5 s]\n[exit code 143]" in result.text
    assert len(result.text) < 1_000_200
    assert not result.ok


@linux_only
async def test_timeout_ends_children_that_ignore_sigterm(shell: Shell, ctx: Any) -> None:
    command = "trap '' TERM; (trap '' TERM; sleep 60) & echo $! > child; wait; sleep 60"
    result = await shell.bash(ctx, command, timeout=0.5)
    assert result.text.endswith("[timed out after 0.5 s]\n[exit code 137]")
    assert not runs(int((ctx.paths.workspace / "child").read_text()))


@linux_only
async def test_timeout_ends_children_in_a_session_of_their_own(shell: Shell, ctx: Any) -> None:
    command = "setsid sh -c 'echo $$ > child; exec sleep 60' & sleep 60"
    await shell.bash(ctx, command, timeout=1)
    assert not runs(int((ctx.paths.workspace / "child").read_text()))


@linux_only
async def test_cancellation_ends_the_command_and_its_children(shell: Shell, ctx: Any) -> None:
    child = ctx.paths.workspace / "child"
    command = "sleep 60 & echo $! > tmp; mv tmp child; wait"
    async with running(shell, ctx, command) as task:
        await until(child.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not runs(int(child.read_text()))


@linux_only
async def test_a_background_process_returns_at_once_and_is_listed(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "sleep 300 & echo started $!")
    pid = int(result.text.split()[1])
    assert result.text.endswith("[exit code 0]")
    assert runs(pid)
    assert "sleep 300" in result.notes[0]
    later = await shell.bash(ctx, "true")
    assert later.notes == result.notes
    group = later.data["jobs"][0]
    ended = await shell.bash(ctx, f"kill -- -{group}; while kill -0 {pid} 2>/dev/null; do :; done")
    assert ended.notes == ()


@linux_only
async def test_a_background_job_that_keeps_writing_does_not_hang(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "yes > /dev/stdout & echo $! >&2; sleep 0.1")
    assert result.ok
    assert len(result.data["jobs"]) == 1


@linux_only
async def test_jobs_belong_to_their_session(
    shell: Shell, ctx: Any, make_context: Callable[..., Any]
) -> None:
    await shell.bash(ctx, "sleep 300 &")
    other = await shell.bash(make_context(ctx.paths.workspace, "s2"), "true")
    assert other.notes == ()


@linux_only
async def test_teardown_ends_the_background_jobs(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    shell = make_plugin()
    result = await shell.bash(ctx, "sleep 300 & echo $!")
    pid = int(result.text.split()[0])
    await shell.teardown(shell.host)
    assert not runs(pid)


async def test_workdir_is_where_the_command_runs(shell: Shell, ctx: Any) -> None:
    (ctx.paths.workspace / "sub").mkdir()
    assert (await shell.bash(ctx, "basename $PWD", workdir="sub")).text == "sub\n[exit code 0]"
    here = (await shell.bash(ctx, "basename $PWD")).text
    assert here == f"{ctx.paths.workspace.name}\n[exit code 0]"


async def test_a_workdir_outside_is_refused(shell: Shell, ctx: Any) -> None:
    with pytest.raises(PermissionError, match="outside the workspace"):
        await shell.bash(ctx, "pwd", workdir="/")


async def test_a_workdir_that_is_no_folder_is_told(shell: Shell, ctx: Any) -> None:
    with pytest.raises(ToolError, match="nosuch"):
        await shell.bash(ctx, "pwd", workdir="nosuch")


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_timeout_must_be_above_zero(shell: Shell, ctx: Any, seconds: float) -> None:
    with pytest.raises(ToolError, match="above 0"):
        await shell.bash(ctx, "true", timeout=seconds)


async def test_a_longer_timeout_than_allowed_is_cut(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    shell = make_plugin(timeout=0.2, max_timeout=0.3)
    result = await shell.bash(ctx, "sleep 60", timeout=1_000)
    assert "[timed out after 0.3 s]" in result.text


async def test_secrets_are_not_in_the_environment(
    shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1")
    monkeypatch.setenv("DB_URL", "postgres://u:sk-very-secret-1@h/db")
    monkeypatch.setenv("github_token", "gh-very-secret")
    monkeypatch.setenv("HOOKLINE_HOME", "/somewhere")
    monkeypatch.setenv("HARMLESS", "fine")
    text = (await shell.bash(ctx, "env")).text
    assert "very-secret" not in text
    assert "HOOKLINE_" not in text
    assert "HARMLESS=fine" in text


async def test_env_allow_lets_a_named_variable_through(
    make_plugin: Callable[..., Shell], ctx: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPM_TOKEN", "npm-very-secret")
    shell = make_plugin(env_allow=["NPM_TOKEN"])
    assert (await shell.bash(ctx, "echo $NPM_TOKEN")).text.startswith("npm-very-secret")


async def test_sh_serves_where_there_is_no_bash(
    shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to(os.path.realpath("/bin/sh"))
    monkeypatch.setenv("PATH", str(folder))
    assert (await shell.bash(ctx, "echo $0")).text == f"{folder}/sh\n[exit code 0]"


async def test_without_any_shell_the_error_says_so(
    shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="neither bash nor sh"):
        await shell.bash(ctx, "echo")


async def test_a_nul_in_a_command_is_told(shell: Shell, ctx: Any) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await shell.bash(ctx, "echo a\0b")


def test_the_schema_is_small(shell: Shell) -> None:
    schema = Tool.from_function(shell.bash).schema
    whole = {"name": schema.name, "description": schema.description}
    compact = json.dumps(whole | {"parameters": schema.parameters}, separators=(",", ":"))
    assert len(compact) <= 700
    assert list(schema.parameters["properties"]) == ["command", "timeout", "workdir"]
    assert schema.parameters["required"] == ["command"]
