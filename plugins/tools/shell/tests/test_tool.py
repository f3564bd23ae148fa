"""The tool with real processes: output, exit codes, timeouts, cancellation, leftovers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import tracemalloc
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Tool, ToolError
from hookline_shell import Shell

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def sleep_command() -> str:
    """A ``sleep`` that no other test has: that is how its process is found."""
    return f"sleep 9{uuid.uuid4().int % 10**12}"


def runs(command: str) -> bool:
    """True while a process with this command line lives, in whatever namespace."""
    wanted = command.encode().replace(b" ", b"\0") + b"\0"
    return any(_lives(entry, wanted) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _lives(entry: Path, wanted: bytes) -> bool:
    try:
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" and (entry / "cmdline").read_bytes() == wanted
    except OSError:
        return False


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


async def test_failing_command_is_not_ok_and_reports_its_exit_code(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "echo oops >&2; exit 3")
    assert result.text == "oops\n[exit code 3]"
    assert not result.ok


async def test_stdout_and_stderr_keep_their_order(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert result.text.splitlines()[:4] == ["1", "2", "3", "4"]


async def test_killed_command_has_the_shells_exit_code(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "kill -KILL $$")
    assert result.text.endswith(f"[exit code {128 + signal.SIGKILL}]")


async def test_stdin_is_empty(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "cat; read x; echo read $?")
    assert result.text == "read 1\n[exit code 0]"


async def test_unicode_and_binary_output_are_text(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, r"printf 'grüße 你好 🦊\n'; printf '\xff\xfe\n'")
    assert result.text == "grüße 你好 🦊\n\ufffd\ufffd\n[exit code 0]"


async def test_large_output_keeps_head_and_tail_and_counts_the_rest(
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


@pytest.mark.slow
async def test_huge_output_is_kept_within_memory(shell: Shell, ctx: Any) -> None:
    tracemalloc.start()
    try:
        result = await shell.bash(ctx, "head -c 100000000 /dev/zero | tr '\\0' x; echo end")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.text.endswith("end\n[exit code 0]")
    assert "[… 99,000,004 characters left out …]" in result.text
    assert peak < 20_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "read -r -p 'name? ' x; echo \"got $x\"",
        "cat",
        "python3 -c 'input()'",
        "bash -i < /dev/null",
        "sh -c 'exec < /dev/tty; read x'",
        "more /dev/null",
        "select x in a b; do break; done",
    ],
)
async def test_program_that_prompts_does_not_hang(shell: Shell, ctx: Any, command: str) -> None:
    result = await shell.bash(ctx, command, timeout=30)
    assert "timed out" not in result.text
    assert "[exit code " in result.text


async def test_last_output_is_not_lost(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "seq 1 20000; echo last >&2")
    assert "\n20000\nlast\n[exit code 0]" in result.text


@pytest.mark.slow
async def test_endless_output_ends_at_the_timeout_within_bounds(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "yes 0123456789", timeout=0.5)
    assert "[timed out after 0.5 s]\n[exit code 143]" in result.text
    assert len(result.text) < 1_000_200
    assert not result.ok


@linux_only
@pytest.mark.slow
async def test_timeout_ends_children_that_ignore_sigterm(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    command = f"trap '' TERM; (trap '' TERM; exec {sleep_command}) & wait; sleep 60"
    result = await shell.bash(ctx, command, timeout=1)
    assert "[timed out after 1 s]" in result.text
    assert re.search(r"\[exit code (137|143)\]\Z", result.text)  # killed, or bubblewrap ended
    assert not runs(sleep_command)


@pytest.mark.slow
@linux_only
async def test_timeout_ends_children_in_a_session_of_their_own(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    await shell.bash(
        ctx, f"setsid {sleep_command} & setsid sh -c '{sleep_command} & wait' & sleep 60", timeout=1
    )
    assert not runs(sleep_command)


@linux_only
@pytest.mark.slow
async def test_timeout_ends_processes_that_forked_twice(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    await shell.bash(ctx, f"(setsid sh -c '({sleep_command} &) ; :' &); sleep 60", timeout=1)
    assert not runs(sleep_command)


@linux_only
async def test_cancellation_ends_the_command_and_its_children(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    async with running(shell, ctx, f"{sleep_command} & wait") as task:
        await until(lambda: runs(sleep_command))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not runs(sleep_command)


@linux_only
async def test_background_process_returns_at_once_and_is_listed(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    result = await shell.bash(ctx, f"{sleep_command} & echo started")
    assert result.text == "started\n[exit code 0]"
    await until(lambda: runs(sleep_command))
    assert sleep_command in result.notes[0]
    later = await shell.bash(ctx, "true")
    assert later.notes == result.notes
    group = later.data["jobs"][0]
    await shell.bash(ctx, f"kill -- -{group}")
    await until(lambda: not runs(sleep_command))
    assert (await shell.bash(ctx, "true")).notes == ()


@pytest.mark.slow
@linux_only
async def test_background_job_that_keeps_writing_does_not_hang(shell: Shell, ctx: Any) -> None:
    result = await shell.bash(ctx, "yes > /dev/stdout & sleep 0.1")
    assert result.ok
    assert len(result.data["jobs"]) == 1


@pytest.mark.slow
@linux_only
async def test_jobs_belong_to_their_session(
    shell: Shell, ctx: Any, make_context: Callable[..., Any], sleep_command: str
) -> None:
    job = (await shell.bash(ctx, f"{sleep_command} &")).data["jobs"][0]
    other = make_context(ctx.paths.workspace, "s2")
    assert (await shell.bash(other, "true")).notes == ()
    await until(lambda: runs(sleep_command))
    assert (await shell.bash(ctx, "true")).data["jobs"] == [job]


@pytest.mark.slow
@linux_only
async def test_teardown_ends_the_background_jobs(
    shell: Shell, ctx: Any, sleep_command: str
) -> None:
    await shell.bash(ctx, f"{sleep_command} &")
    await until(lambda: runs(sleep_command))
    await shell.teardown(shell.host)
    assert not runs(sleep_command)


async def test_command_runs_in_workdir(shell: Shell, ctx: Any) -> None:
    (ctx.paths.workspace / "sub").mkdir()
    assert (await shell.bash(ctx, "basename $PWD", workdir="sub")).text == "sub\n[exit code 0]"
    here = (await shell.bash(ctx, "basename $PWD")).text
    assert here == f"{ctx.paths.workspace.name}\n[exit code 0]"


async def test_workdir_outside_the_workspace_is_refused(shell: Shell, ctx: Any) -> None:
    with pytest.raises(PermissionError, match="outside the workspace"):
        await shell.bash(ctx, "pwd", workdir="/")


async def test_workdir_that_is_not_a_folder_is_an_error(shell: Shell, ctx: Any) -> None:
    with pytest.raises(ToolError, match="nosuch"):
        await shell.bash(ctx, "pwd", workdir="nosuch")


@pytest.mark.parametrize("seconds", [0, -1])
async def test_timeout_must_be_above_zero(shell: Shell, ctx: Any, seconds: float) -> None:
    with pytest.raises(ToolError, match="above 0"):
        await shell.bash(ctx, "true", timeout=seconds)


async def test_timeout_above_the_maximum_is_lowered(
    make_plugin: Callable[..., Shell], ctx: Any
) -> None:
    shell = make_plugin(timeout=0.2, max_timeout=0.3)
    result = await shell.bash(ctx, "sleep 60", timeout=1_000)
    assert "[timed out after 0.3 s]" in result.text


SECRETS = {
    "DATABASE_URL": "postgres://app:very-secret@db/app",
    "CONNECTION_STRING": "Server=db;Pwd=very-secret",
    "AWS_ACCESS_KEY_ID": "very-secret-id",
    "PGPASSFILE": "/somewhere/very-secret",
    "GH_PAT": "very-secret-pat",
    "SLACK_WEBHOOK": "https://hooks.slack.example/very-secret",
    "COOKIE": "session=very-secret",
    "SENTRY_DSN": "https://very-secret@sentry.example/1",
    "github_token": "very-secret-gh",
    "MY_API_KEY": "sk-very-secret-1",
    "Whatever": "very-secret-too",
    "LC_SECRET_COPY": "it is sk-very-secret-1",
    "PIP_INDEX_URL": "https://me:very-secret@pypi.example/simple",
    "HTTPS_PROXY": "http://me:very-secret@proxy.example:3128",
    "HOOKLINE_HOME": "/somewhere",
    "SSH_AUTH_SOCK": "/tmp/very-secret-agent",
    "BASH_ENV": "/tmp/very-secret-script",
}
USUAL = {
    "LANG": "C.UTF-8",
    "LC_TIME": "C",
    "TZ": "UTC",
    "TERM": "dumb",
    "CFLAGS": "-O2",
    "GOFLAGS": "-v",
}


async def test_only_listed_variables_are_in_the_environment(
    shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (SECRETS | USUAL).items():
        monkeypatch.setenv(name, value)
    text = (await shell.bash(ctx, "env")).text
    assert "very-secret" not in text
    assert "HOOKLINE_" not in text
    assert {f"{name}={value}" for name, value in USUAL.items()} <= set(text.splitlines())
    assert re.search("^PATH=", text, re.MULTILINE)


@linux_only
async def test_command_is_marked_by_an_unremovable_limit(shell: Shell, ctx: Any) -> None:
    text = (
        await shell.bash(ctx, "unset SHELL_COMMAND_ID; ulimit -Hq; ulimit -q 900000 || true")
    ).text
    assert text.splitlines()[0] == "819191"


async def test_env_allow_lets_a_named_variable_through(
    make_plugin: Callable[..., Shell], ctx: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPM_TOKEN", "npm-very-secret")
    shell = make_plugin(env_allow=["NPM_TOKEN"])
    assert (await shell.bash(ctx, "echo $NPM_TOKEN")).text.startswith("npm-very-secret")


async def test_sh_is_used_without_bash(
    bare_shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to(os.path.realpath("/bin/sh"))
    monkeypatch.setenv("PATH", str(folder))
    assert (await bare_shell.bash(ctx, "echo $0")).text == f"{folder}/sh\n[exit code 0]"


async def test_missing_shell_is_an_error(
    bare_shell: Shell, ctx: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="neither bash nor sh"):
        await bare_shell.bash(ctx, "echo")


async def test_nul_in_a_command_is_an_error(shell: Shell, ctx: Any) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await shell.bash(ctx, "echo a\0b")


@pytest.mark.parametrize("command", ["", "  \n"])
async def test_empty_command_is_an_error(shell: Shell, ctx: Any, command: str) -> None:
    with pytest.raises(ToolError, match="empty"):
        await shell.bash(ctx, command)


def test_schema_is_small(make_plugin: Callable[..., Shell]) -> None:
    schema = Tool.from_function(make_plugin().bash).schema
    whole = {"name": schema.name, "description": schema.description}
    compact = json.dumps(whole | {"parameters": schema.parameters}, separators=(",", ":"))
    assert len(compact) <= 700
    assert set(schema.parameters["properties"]) == {
        "command",
        "timeout",
        "workdir",
        "outside",
        "reason",
    }
    assert schema.parameters["required"] == ["command"]


@pytest.mark.long
async def test_jobs_are_listed_shown_and_stopped(shell: Shell, ctx: Any) -> None:
    assert await shell.jobs(ctx, "") == "No background jobs."
    await shell.bash(ctx, "(sleep .3; echo from the job; sleep 1000) & true")
    listed = await shell.jobs(ctx, "")
    assert listed.startswith("- 1: `(sleep .3; echo from the job; sleep 1000) & true` · running")
    async with asyncio.timeout(20):
        while "\nfrom the job\n" not in await shell.jobs(ctx, "1"):
            await asyncio.sleep(0.05)
    assert await shell.jobs(ctx, "stop 1") == "Stopped job 1."
    assert await shell.jobs(ctx, "stop 1") == "Job 1 has already ended."
    assert "· ended" in await shell.jobs(ctx, "")
    assert "\nfrom the job\n" in await shell.jobs(ctx, "1")
    assert (await shell.jobs(ctx, "stop 2")).startswith("There is no job 2.")
