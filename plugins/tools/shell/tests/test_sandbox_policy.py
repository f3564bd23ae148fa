"""Whose commands are sandboxed, and what they can reach: attacks that succeed without it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hookline_hookspecs import Ask, Deny, Origin, Question, ToolCall, ToolError
from hookline_hookspecs.questions import QuestionAnswer
from hookline_shell import Shell

from .conftest import hook_verdict

STRANGER: dict[str, Any] = {"channel": "telegram", "operator": False}
ADMIN: dict[str, Any] = {"channel": "telegram", "operator": True}
NOBODY: dict[str, Any] = {"interactive": False, "approval": "no"}
BEFOREHAND: dict[str, Any] = {"interactive": False, "approval": "yes"}
AGENT: dict[str, Any] = {"kind": "agent", "parent_id": "s0"}
REVIEW: dict[str, Any] = {
    "kind": "review",
    "parent_id": "s0",
    "interactive": False,
    "approval": "no",
}
INSIDE = "[[ $(ulimit -Hc) == 0 && ! -e /proc/1/root/var/log ]] && ! ls /var/log 2>/dev/null"


@pytest.fixture(
    params=["sandboxes", pytest.param("namespaces", marks=pytest.mark.slow), "landlock"]
)
def each_sandbox(request: pytest.FixtureRequest) -> str:
    """Each kind of sandbox in turn."""
    request.getfixturevalue(request.param)
    return str(request.param)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Hookline's home with two chats; one's workspace is ``chats/telegram/1/work``."""
    home = tmp_path / "person" / ".hookline"
    for chat in ("1", "2"):
        (home / "chats" / "telegram" / chat / "work").mkdir(parents=True)
        (home / "chats" / "telegram" / chat / "MEMORY.md").write_text("very-secret notes")
    (home / "config.yaml").write_text("very-secret config")
    (home / ".env").write_text("KEY=very-secret")
    (home / "hookline.db").write_text("very-secret store")
    (home.parent / ".ssh").mkdir()
    (home.parent / ".ssh" / "id_rsa").write_text("very-secret key")
    return home


@pytest.fixture
def account_home(chats: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the account."""
    monkeypatch.setenv("HOME", str(chats.parent))
    return chats.parent


@pytest.fixture
def shell_of(make_plugin: Callable[..., Shell], chats: Path) -> Callable[..., Shell]:
    """Makes a plugin with the home of ``chats``."""

    def make(**config: Any) -> Shell:
        shell = make_plugin(**config)
        shell.host.home = chats
        return shell

    return make


def work(chats: Path) -> Path:
    return chats / "chats" / "telegram" / "1" / "work"


@pytest.mark.long
@pytest.mark.parametrize("who", [STRANGER, ADMIN, NOBODY, AGENT, REVIEW], ids=str)
async def test_sandbox_is_the_default_for_everyone_who_is_not_at_the_terminal(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    each_sandbox: str,
    who: dict[str, Any],
) -> None:
    result = await shell_of().bash(make_context(work(chats), **who), INSIDE)
    assert result.ok, result.text


@pytest.mark.parametrize("who", [{}, BEFOREHAND], ids=["in person", "beforehand"])
async def test_command_of_the_operator_is_sandboxed(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    each_sandbox: str,
    who: dict[str, Any],
) -> None:
    result = await shell_of().bash(make_context(work(chats), **who), f"cat {chats}/config.yaml")
    assert not result.ok
    assert "very-secret" not in result.text


async def test_sandbox_can_be_switched_off(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, sandboxes: None
) -> None:
    shell = shell_of(sandbox={"enabled": False})
    result = await shell.bash(make_context(work(chats), **STRANGER), f"cat {chats}/config.yaml")
    assert "very-secret" in result.text


SCRIPT = """
import os, pathlib, sys
for place in sys.argv[1:]:
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                print(pathlib.Path(folder, name).read_text())
            except OSError as error:
                print(error)
for process in os.listdir("/proc"):
    for name in ("environ", "root/etc/shadow", "cwd/secret", "mem"):
        try:
            print(open(f"/proc/{process}/{name}", "rb").read(10000))
        except OSError:
            pass
"""


async def test_sandboxed_script_cannot_read_home(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    account_home: Path,
    each_sandbox: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROVIDER_KEY", "very-secret-of-the-process")
    (work(chats) / "x.py").write_text(SCRIPT)
    ctx = make_context(work(chats), **STRANGER)
    result = await shell_of().bash(ctx, f"python3 x.py {account_home} {chats} ..; echo done")
    assert "done" in result.text
    assert "very-secret" not in result.text


async def test_link_into_home_leads_nowhere(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    account_home: Path,
    each_sandbox: str,
) -> None:
    (work(chats) / "key").symlink_to(account_home / ".ssh" / "id_rsa")
    (work(chats) / "up").symlink_to("../../2")
    ctx = make_context(work(chats), **STRANGER)
    command = f"cat key up/MEMORY.md; ln {chats}/config.yaml hard; cat hard; ls -R ../.."
    assert "very-secret" not in (await shell_of().bash(ctx, command)).text


async def test_home_inside_the_workspace_is_not_visible(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    account_home: Path,
    each_sandbox: str,
) -> None:
    (account_home / "notes").write_text("mine")
    (account_home / "project").mkdir()
    (account_home / "project" / ".env").write_text("KEY=very-secret")
    ctx = make_context(account_home, **NOBODY)
    command = (
        f"cat notes; cat {chats}/config.yaml .hookline/chats/telegram/2/MEMORY.md .ssh/id_rsa "
        "project/.env; find . -name MEMORY.md; echo x > project/new && echo written"
    )
    text = (await shell_of().bash(ctx, command)).text
    assert text.startswith("mine")
    assert "very-secret" not in text
    if (
        each_sandbox != "landlock"
    ):  # Landlock leaves names to be seen, and nothing new beside a secret
        assert "./.hookline/chats" not in text
        assert "written" in text


async def test_control_files_cannot_be_changed(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    tmp_path: Path,
    each_sandbox: str,
) -> None:
    project = tmp_path / "project"
    for folder in (".git/hooks", ".github/workflows", ".husky", ".vscode", "inner/.git/hooks"):
        (project / folder).mkdir(parents=True)
    for file in (".git/config", "AGENTS.md", "inner/CLAUDE.md", ".github/workflows/ci.yml"):
        (project / file).write_text("before")
    ctx = make_context(project, **STRANGER)
    command = (
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x > .husky/pre-commit;"
        "echo x > .vscode/tasks.json; echo x > .github/workflows/ci.yml; echo x > AGENTS.md;"
        "echo x > inner/CLAUDE.md; echo x > inner/.git/hooks/post-checkout; rm -rf AGENTS.md;"
        "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit;"
        "mv .github gone; mv .git/hooks .git/hooks2; cat AGENTS.md"
    )
    result = await shell_of().bash(ctx, command)
    found = {str(p.relative_to(project)): p.read_text() for p in project.rglob("*") if p.is_file()}
    if each_sandbox == "landlock":  # put back afterwards; what was moved has names nobody follows
        assert "AGENTS.md" in "".join(result.notes)
        moved = ("old/", "gone/", ".git/hooks2/")
        found = {name: text for name, text in found.items() if not name.startswith(moved)}
    else:
        assert "before" in result.text
    assert found == {
        ".git/config": "before",
        "AGENTS.md": "before",
        "inner/CLAUDE.md": "before",
        ".github/workflows/ci.yml": "before",
    }


async def test_git_commit_works_in_the_sandbox(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    tmp_path: Path,
    sandboxes: None,
) -> None:
    ctx = make_context(tmp_path, **STRANGER)
    who = "git -c user.name=a -c user.email=a@b.example"
    made = await shell_of().bash(
        ctx, f"git init -q && echo 1 > a && git add a && {who} commit -qm 1"
    )
    assert made.ok, made.text
    again = await shell_of().bash(ctx, f"echo 2 > a && {who} commit -qam 2 && git log --oneline")
    assert again.text.count("\n") == 2, again.text


async def test_local_server_cannot_be_reached(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, each_sandbox: str
) -> None:
    name = f"hookline-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        hidden.bind(f"\0{name}")
        hidden.listen()
        code = (
            "import socket\n"
            f"there, hidden = ('127.0.0.1', {server.getsockname()[1]}), '\\0{name}'\n"
            "for kind, place in ((2, there), (1, hidden)):\n"
            "    try:\n        socket.socket(kind).connect(place); print('reached')\n"
            "    except OSError as error: print(error)\n"
        )
        (work(chats) / "connect.py").write_text(code)
        ctx = make_context(work(chats), **STRANGER)
        text = (await shell_of().bash(ctx, "python3 connect.py")).text
    assert "reached" not in text
    assert text.endswith("[exit code 0]")


@pytest.mark.slow
async def test_memory_and_file_size_are_limited(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, each_sandbox: str
) -> None:
    limits = {"memory_mb": 128, "file_mb": 4, "cpu_seconds": 1}
    shell = shell_of(sandbox={"limits": limits})
    ctx = make_context(work(chats), **STRANGER)
    assert not (await shell.bash(ctx, "head -c 400000000 /dev/zero | tail -c 300000000")).ok
    assert not (await shell.bash(ctx, "head -c 9000000 /dev/zero > big")).ok
    assert (work(chats) / "big").stat().st_size <= 4 * 1_048_576
    assert not (await shell.bash(ctx, "while :; do :; done", timeout=20)).text.startswith("[timed")


async def test_oversized_private_folders_are_emptied(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, each_sandbox: str
) -> None:
    shell = shell_of(sandbox={"limits": {"private_mb": 16}})
    ctx = make_context(work(chats), **STRANGER)
    await shell.bash(ctx, "head -c 20000000 /dev/urandom > $TMPDIR/big")
    assert not (await shell.bash(ctx, "ls $TMPDIR/big")).ok
    assert "emptied" in ctx.told[0]


def asked(shell: Shell, ctx: Any, command: str = "ls") -> Ask | Deny | None:
    return hook_verdict(shell, ctx, ToolCall("c1", "bash", {"command": command}))


def test_commands_of_others_need_approval_without_a_sandbox(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, no_sandbox: None
) -> None:
    found = asked(shell_of(), make_context(work(chats), **STRANGER))
    assert isinstance(found, Ask)
    assert found.once
    assert found.preview == "ls"
    assert "all the rights of the account" in found.reason


def test_nothing_is_run_without_a_sandbox_or_a_person(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, no_sandbox: None
) -> None:
    for who in (NOBODY, REVIEW, {**STRANGER, **NOBODY}):
        found = asked(shell_of(), make_context(work(chats), **who))
        assert isinstance(found, Deny)
        assert "install bubblewrap" in found.reason


async def test_tool_itself_refuses_without_a_sandbox(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, no_sandbox: None
) -> None:
    with pytest.raises(ToolError, match="nothing was run"):
        await shell_of().bash(make_context(work(chats), **NOBODY), "touch proof")
    assert not (work(chats) / "proof").exists()


async def test_admin_is_warned_without_a_sandbox(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, no_sandbox: None
) -> None:
    shell, ctx = shell_of(), make_context(work(chats), **ADMIN)
    found = asked(shell, ctx)
    assert isinstance(found, Ask)
    assert "the plugin permissions is off" in found.reason
    assert (await shell.bash(ctx, "echo 1")).ok
    assert (await shell.bash(ctx, "echo 2")).ok
    assert len(ctx.told) == 1
    assert "without a sandbox" in ctx.told[0]


def test_landlock_needs_no_approval(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, landlock: None
) -> None:
    assert asked(shell_of(), make_context(work(chats), **STRANGER)) is None


class Local:
    """Stands in for the guarded client: one name is public, everything else is refused."""

    def __init__(self, port: int) -> None:
        self.port = port

    def check_url(self, url: str) -> str | None:
        host = urlsplit(url).hostname
        return None if host == "public.example" else f"The host {host} is refused."

    async def connect(self, host: str, port: int) -> Any:
        import asyncio

        from hookline_hookspecs import Refused

        if host != "public.example":
            raise Refused(f"The host {host} is refused.")
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
async def public() -> Any:
    """A web server that only the proxy can reach; its port."""
    import asyncio

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = head.split(b"\r\n")[0]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def allow_once(question: Question) -> QuestionAnswer:
    """Answers the question about a host."""
    return QuestionAnswer("Allow once")


def fetch(url: str) -> str:
    """A command that asks the proxy for ``url``, with bash alone."""
    request = rf"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n"
    return f"exec 3<>/dev/tcp/127.0.0.1/3128; printf '{request}' >&3; timeout 5 cat <&3"


@pytest.mark.slow
async def test_admin_reaches_public_addresses_only_through_the_guard(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    sandboxes: None,
    public: int,
) -> None:
    shell, ctx = shell_of(), make_context(work(chats), **ADMIN, ask_answer=allow_once)
    shell.host.http = Local(public)
    result = await shell.bash(ctx, fetch("http://public.example/a?b=c"))
    assert "GET /a?b=c HTTP/1.1" in result.text
    assert result.origins == (Origin("outside", "http://public.example/a"),)
    for place in ("http://169.254.169.254/latest", f"http://127.0.0.1:{public}/"):
        result = await shell.bash(ctx, fetch(place))
        assert "403 Forbidden" in result.text
        assert result.origins == (Origin("workspace", "bash"),)
    assert not (await shell.bash(ctx, f"exec 3<>/dev/tcp/127.0.0.1/{public}")).ok
    assert not (await shell.bash(ctx, "exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3")).ok


async def test_others_have_no_network_by_default(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    sandboxes: None,
    public: int,
) -> None:
    ctx = make_context(work(chats), **STRANGER, ask_answer=allow_once)
    for network, reaches in (("auto", False), (False, False), ("guarded", True), (True, True)):
        shell = shell_of(sandbox={"network": network})
        shell.host.http = Local(public)
        result = await shell.bash(ctx, fetch("http://public.example/"))
        assert ("200 OK" in result.text) is reaches, network


async def test_vsock_and_alg_sockets_are_refused(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, each_sandbox: str
) -> None:
    code = "import socket\nfor family in (40, 38):  # vsock, alg\n    socket.socket(family, 5)"
    (work(chats) / "vsock.py").write_text(code)
    ctx = make_context(work(chats), **STRANGER)
    text = (await shell_of().bash(ctx, "python3 vsock.py")).text
    assert "Operation not permitted" in text


async def test_root_loses_its_capabilities(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, each_sandbox: str
) -> None:
    ctx = make_context(work(chats), **STRANGER)
    script = "chown 12345 .; PATH=$PATH:/usr/sbin chroot / true; ls -A /proc/self/fd"
    text = (await shell_of().bash(ctx, script)).text
    assert "changing ownership of" in text
    assert "cannot change root directory" in text
    assert "\n9\n" not in text


def outside_call(command: str) -> ToolCall:
    arguments = {"command": command, "outside": True, "reason": "it needs\nmy keys"}
    return ToolCall("c1", "bash", arguments)


async def test_command_outside_the_sandbox_is_always_asked(
    shell_of: Callable[..., Shell], make_context: Callable[..., Any], chats: Path, sandboxes: None
) -> None:
    shell, ctx = shell_of(), make_context(work(chats), **ADMIN)
    found = hook_verdict(shell, ctx, outside_call("ls"))
    assert isinstance(found, Ask)
    assert found.once
    assert found.preview == "ls"
    assert found.reason.endswith("Its reason: it needs my keys")
    result = await shell.bash(ctx, f"cat {chats}/config.yaml", outside=True)
    assert "very-secret" in result.text


@pytest.mark.parametrize("who", [NOBODY, REVIEW, {**ADMIN, "approval": "yes"}], ids=str)
async def test_nothing_leaves_the_sandbox_without_a_person(
    shell_of: Callable[..., Shell],
    make_context: Callable[..., Any],
    chats: Path,
    sandboxes: None,
    who: dict[str, Any],
) -> None:
    shell, ctx = shell_of(), make_context(work(chats), **who)
    assert isinstance(hook_verdict(shell, ctx, outside_call("ls")), Deny)
    with pytest.raises(ToolError, match="only a person"):
        await shell.bash(ctx, "touch proof", outside=True)
    assert not (work(chats) / "proof").exists()
