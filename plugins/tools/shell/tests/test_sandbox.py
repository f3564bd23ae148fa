"""The sandbox: what a command can see and reach; a required sandbox that is missing refuses.

The tests of ``test_tool.py`` go through it as well.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import Check, CheckResult, ToolError
from hookline_sandbox import Found, Method
from hookline_shell import Shell


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a secret in it."""
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "id_rsa").write_text("very-secret")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def work(tmp_path: Path, make_context: Callable[..., Any]) -> Any:
    """A context whose workspace is beside the home folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return make_context(folder)


def checked(shell: Shell) -> CheckResult:
    found: list[Check] = []
    shell.register_checks(found.append)
    result = next(check for check in found if check.name == "sandbox").run()
    assert isinstance(result, CheckResult)
    return result


@pytest.mark.slow
async def test_system_is_read_only(sandboxed: Shell, ctx: Any) -> None:
    for place in ("/usr/x", "/etc/x", "/bin/x"):
        result = await sandboxed.bash(ctx, f"echo x > {place}")
        assert not result.ok
        assert "Read-only" in result.text
        assert not Path(place).exists()


async def test_workspace_is_writable(sandboxed: Shell, ctx: Any) -> None:
    result = await sandboxed.bash(ctx, "echo kept > file && cat file")
    assert result.text == "kept\n[exit code 0]"
    assert (ctx.paths.workspace / "file").read_text() == "kept\n"


async def test_moving_the_workspace_itself_is_explained(shell: Shell, work: Any) -> None:
    result = await shell.bash(work, "mv ../work ../elsewhere")
    if result.ok:  # without a sandbox
        assert not work.paths.workspace.exists()
        return
    assert work.paths.workspace.is_dir()
    assert "outside=true" in result.notes[0]
    failed = await shell.bash(work, "echo x > f && mv f no/such/folder")
    assert not failed.notes


@pytest.mark.slow
async def test_rest_of_the_machine_is_not_visible(
    sandboxed: Shell, work: Any, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("not for you")
    for place in (
        tmp_path / "other",
        Path(__file__),
        Path("/var/log"),
        Path("/proc/1/root/var/log"),
    ):
        result = await sandboxed.bash(work, f"cat {place} 2>&1 || ls {place}")
        assert not result.ok, place


async def test_secrets_in_home_are_not_visible(sandboxed: Shell, work: Any, home: Path) -> None:
    result = await sandboxed.bash(work, "cat ~/.ssh/id_rsa; ls -A ~; echo $HOME")
    assert "very-secret" not in result.text
    assert str(home) not in result.text


async def test_secrets_in_the_workspace_are_masked(sandboxed: Shell, ctx: Any) -> None:
    (ctx.paths.workspace / ".env").write_text("KEY=very-secret")
    (ctx.paths.workspace / ".ssh").mkdir()
    (ctx.paths.workspace / ".ssh" / "id_rsa").write_text("very-secret")
    result = await sandboxed.bash(ctx, "cat .env .ssh/id_rsa; grep -r very .; echo x > .env")
    assert "very-secret" not in result.text
    assert (ctx.paths.workspace / ".env").read_text() == "KEY=very-secret"


@pytest.mark.long
@pytest.mark.parametrize(
    "first",
    [
        "mv pkg/app node_modules",
        "mv pkg dist",
        "mkdir -p 1/2/3/4/5/6/7/8 && mv pkg/app 1/2/3/4/5/6/7/8",
        "mkdir 0{1..4100}",
    ],
)
async def test_secret_moved_to_an_unsearched_folder_stays_masked(
    sandboxed: Shell, ctx: Any, first: str
) -> None:
    app = ctx.paths.workspace / "pkg" / "app"
    app.mkdir(parents=True)
    (app / ".env").write_text("KEY=very-secret")
    await sandboxed.bash(ctx, first)
    result = await sandboxed.bash(ctx, "find . -name .env -exec cat {} +")
    assert "very-secret" not in result.text


@pytest.mark.parametrize(
    "name",
    [".cargo/.env", ".cache/huggingface/.env", "go/x/.env", "node_modules/.env", "dist/.env"],
)
async def test_secrets_in_dependency_and_cache_folders_are_masked(
    sandboxed: Shell, ctx: Any, name: str
) -> None:
    secret = ctx.paths.workspace / name
    secret.parent.mkdir(parents=True)
    secret.write_text("very-secret")
    result = await sandboxed.bash(ctx, f"cat {name}")
    assert "very-secret" not in result.text


async def test_secrets_are_masked_if_home_is_the_workspace(
    sandboxed: Shell, home: Path, make_context: Callable[..., Any]
) -> None:
    (home / "notes").write_text("mine")
    result = await sandboxed.bash(make_context(home), "cat notes; cat .ssh/id_rsa")
    assert result.text.startswith("mine")
    assert "very-secret" not in result.text


async def test_password_files_of_the_machine_are_masked(sandboxed: Shell, ctx: Any) -> None:
    result = await sandboxed.bash(ctx, "cat /etc/shadow /etc/gshadow /etc/sudoers")
    assert not result.ok
    assert "root:" not in result.text


async def test_environment_is_cleared(
    make_plugin: Callable[..., Shell], sandboxes: None, ctx: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPANY_INTERNAL", "not for you")
    monkeypatch.setenv("BUILD_TOKEN", "wanted-token")
    monkeypatch.setenv("TZ", "UTC")
    shell = make_plugin(sandbox={"enabled": True}, env_allow=["BUILD_TOKEN"])
    text = (await shell.bash(ctx, "env; tr '\\0' '\\n' < /proc/1/environ")).text
    assert "COMPANY_INTERNAL" not in text
    assert "BUILD_TOKEN=wanted-token" in text
    assert "TZ=UTC" in text
    await shell.teardown(shell.host)


async def test_temporary_files_are_private_and_last_for_the_session(
    sandboxed: Shell, ctx: Any, make_context: Callable[..., Any]
) -> None:
    await sandboxed.bash(ctx, "echo one > /tmp/shell-sandbox-file; echo two > ~/cache")
    again = await sandboxed.bash(ctx, "cat /tmp/shell-sandbox-file ~/cache")
    assert again.text == "one\ntwo\n[exit code 0]"
    assert not Path("/tmp/shell-sandbox-file").exists()
    other = make_context(ctx.paths.workspace, "s2")
    assert not (await sandboxed.bash(other, "cat /tmp/shell-sandbox-file")).ok


def listening() -> socket.socket:
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(30)
    return server


async def test_network_is_not_available(sandboxed: Shell, ctx: Any) -> None:
    with listening() as server:
        port = server.getsockname()[1]
        result = await sandboxed.bash(ctx, f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert not result.ok


async def test_other_processes_cannot_be_seen_or_ended(sandboxed: Shell, ctx: Any) -> None:
    result = await sandboxed.bash(ctx, "ls -d /proc/[0-9]* | wc -l; kill -9 1; echo alive")
    count, *rest = result.text.splitlines()
    assert int(count) < 10
    assert "alive" in rest


async def test_more_folders_can_be_mounted(
    make_plugin: Callable[..., Shell], sandboxes: None, work: Any, tmp_path: Path
) -> None:
    for name in ("tools", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    sandbox = {
        "enabled": True,
        "read_only": [str(tmp_path / "tools"), str(tmp_path / "missing")],
        "writable": [str(tmp_path / "out")],
    }
    shell = make_plugin(sandbox=sandbox)
    read = await shell.bash(work, f"cat {tmp_path}/tools/file {tmp_path}/out/file")
    assert read.text == "toolsout\n[exit code 0]"
    assert not (await shell.bash(work, f"echo x > {tmp_path}/tools/new")).ok
    assert (await shell.bash(work, f"echo x > {tmp_path}/out/new")).ok
    await shell.teardown(shell.host)


async def test_required_sandbox_that_cannot_be_made_refuses_commands(
    make_plugin: Callable[..., Shell], ctx: Any, no_sandbox: None
) -> None:
    shell = make_plugin(sandbox={"enabled": True})
    with pytest.raises(ToolError, match=r"nothing was run: .*install bubblewrap.*enabled: false"):
        await shell.bash(ctx, "echo > proof")
    assert not (ctx.paths.workspace / "proof").exists()


def test_bubblewraps_error_is_shown(
    make_plugin: Callable[..., Shell], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh: None
) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("hookline_sandbox.methods.namespaces_failure", lambda: "they are refused")
    result = checked(make_plugin())
    assert result.ok
    assert result.hint
    assert "No permissions to create new namespace" in result.detail
    assert "userns" in result.fix


def test_doctor_names_the_sandbox(make_plugin: Callable[..., Shell], sandboxes: None) -> None:
    assert "bubblewrap" in checked(make_plugin()).detail
    assert checked(make_plugin(sandbox={"enabled": True})).ok


def test_doctor_says_if_landlock_is_used(
    make_plugin: Callable[..., Shell],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    landlock: None,
) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = checked(make_plugin())
    assert result.hint
    assert "Landlock" in result.detail
    assert "Install bubblewrap" in result.fix


def test_doctor_warns_if_the_sandbox_is_off(make_plugin: Callable[..., Shell]) -> None:
    result = checked(make_plugin(sandbox={"enabled": False}))
    assert result.hint
    assert "off: everyone's commands" in result.detail


def test_doctor_says_if_there_is_no_sandbox(
    make_plugin: Callable[..., Shell], no_sandbox: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(make_plugin()).hint
    assert not checked(make_plugin(sandbox={"enabled": True})).ok


async def test_teardown_removes_private_folders(
    make_plugin: Callable[..., Shell],
    sandboxes: None,
    ctx: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    shell = make_plugin(sandbox={"enabled": True})
    shell.host.home = tmp_path / "hookline"
    await shell.bash(ctx, "echo x > /tmp/x")
    assert list(folder.iterdir())
    await shell.teardown(shell.host)
    assert not list(folder.iterdir())


async def test_shell_says_whether_the_operator_is_sandboxed(
    make_plugin: Callable[..., Shell], sandboxes: None
) -> None:
    assert await make_plugin().covers_operator()
    assert not await make_plugin(sandbox={"enabled": False}).covers_operator()


async def test_command_on_macos_runs_with_a_profile_and_a_proxy_of_its_own(
    make_plugin: Callable[..., Shell], ctx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sandbox-exec"
    program.write_text('#!/bin/bash\necho "$2" > profile; shift 2; exec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("hookline_sandbox.seatbelt.PROGRAM", str(program))
    for place in ("hookline_sandbox.sandbox.found", "hookline_shell.sandbox_runner.found"):
        monkeypatch.setattr(place, lambda: Found(Method.SEATBELT))
    shell = make_plugin(sandbox={"enabled": True})
    result = await shell.bash(ctx, 'echo "$HTTP_PROXY $HOME"')
    proxy, home = result.text.split()[:2]
    profile = (ctx.paths.workspace / "profile").read_text()
    assert f'(remote ip "localhost:{proxy.rpartition(":")[2]}")' in profile
    assert f'(subpath "{home}")' in profile
    assert f'(subpath "{ctx.paths.workspace}")' in profile
    assert not (await shell.bash(ctx, f"exec 3<>/dev/tcp/127.0.0.1/{proxy.rpartition(':')[2]}")).ok
