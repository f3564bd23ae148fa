"""The supervised network under Landlock: own servers and the proxy, and every other way refused."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline_sandbox.methods import supervision_failure
from hookline_shell import Shell

SERVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
print(s.getsockname()[:2], flush=True)
while True:
    c, _ = s.accept(); c.sendall(b"from inside"); c.close()
"""
IPV6 = ("::1", "::") if Path("/proc/net/if_inet6").exists() else ()
PREPARE = "import socket as S, errno, sys, os, threading, ctypes\n"


@pytest.fixture
async def shell(
    landlock: None, make_plugin: Callable[..., Shell], tmp_path: Path
) -> AsyncIterator[Shell]:
    if reason := supervision_failure():
        pytest.skip(reason)
    made = make_plugin(sandbox={"enabled": True})
    made.host.home = tmp_path / "hookline"
    yield made
    await made.teardown(made.host)


@pytest.fixture
def run(shell: Shell, make_context: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Runs a command, or the Python code after ``python:``."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "server.py").write_text(SERVER)
    ctx = make_context(workspace)

    async def run(command: str) -> str:
        if command.startswith("python:"):
            (workspace / "code.py").write_text(PREPARE + command.removeprefix("python:"))
            command = "python3 code.py"
        result = await shell.bash(ctx, command, timeout=60)
        return str(result.text)

    return run


@pytest.fixture
def service() -> Iterator[int]:
    """Something of the person's on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _answer(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"of the person")


@pytest.mark.long
async def test_own_server_is_reached_by_the_next_command(run: Callable[..., Any]) -> None:
    for host in ("127.0.0.1", "0.0.0.0", *IPV6):
        text = await run(f"python3 server.py {host} 0 > port 2>&1 & sleep 1; cat port")
        shown, port = text.splitlines()[0].strip("()").split(", ")
        assert shown.strip("'") in ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        to = "::1" if ":" in host else "127.0.0.1"
        code = f"print(S.create_connection(({to!r}, {port}), 5).recv(99))"
        assert "from inside" in await run("python:" + code)
        # Threads have ids of their own.
        code = f"def f(): {code}\nt = threading.Thread(target=f); t.start(); t.join()"
        assert "from inside" in await run("python:" + code)


@pytest.mark.long
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::ffff:127.0.0.1"])
async def test_ports_of_the_machine_are_refused(
    run: Callable[..., Any], service: int, host: str
) -> None:
    text = await run(f"python:S.create_connection(({host!r}, {service}), 5)")
    assert "ConnectionRefusedError" in text


async def test_port_that_another_program_took_over_is_refused(run: Callable[..., Any]) -> None:
    text = await run("python:s = S.create_server(('127.0.0.1', 0)); print(s.getsockname()[1])")
    with socket.create_server(("127.0.0.1", int(text.splitlines()[0]))) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        text = await run(f"python:S.create_connection(('127.0.0.1', {port}), 5)")
        server.shutdown(socket.SHUT_RDWR)
    assert "ConnectionRefusedError" in text


@pytest.mark.long
@pytest.mark.parametrize(
    "code",
    [
        "S.create_connection(('198.51.100.1', 80), 5)",
        "S.create_connection(('2001:db8::1', 80), 5)",
        "S.socket(S.AF_INET, S.SOCK_DGRAM)",
        "S.socket(S.AF_INET, S.SOCK_STREAM, 262)",  # MPTCP, which Landlock does not know
        "S.socket(S.AF_INET, S.SOCK_STREAM, 132)",  # SCTP
        "S.socket(S.AF_UNIX, S.SOCK_DGRAM)",
        "S.socketpair(S.AF_UNIX, S.SOCK_DGRAM)",
        "S.socket(S.AF_NETLINK, S.SOCK_RAW, 9)",  # audit
        "S.socket(S.AF_INET).sendto(b'x', 0x20000000, ('127.0.0.1', PORT))",
        "S.socket(S.AF_INET).sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', PORT))",
        "S.socket(S.AF_INET).bind(('198.51.100.1', 0))",
        "S.socket(S.AF_UNIX).connect('\\0abstract')",
        "S.socket(S.AF_UNIX).connect('OUTSIDE')",
        "os.symlink('OUTSIDE', 'link'); S.socket(S.AF_UNIX).connect('link')",
        "assert ctypes.CDLL(None).syscall(425, 1, 0) >= 0",  # io_uring_setup
        "assert ctypes.CDLL(None).connect(S.socket().fileno(), ctypes.c_void_p(-1), 16) == 0",
        "assert ctypes.CDLL(None).connect(0, b'\\2\\0' + bytes(14), 16) == 0",
        "assert ctypes.CDLL(None).bind(S.socket().fileno(), bytes(16), 16) == 0",
        "assert ctypes.CDLL(None).connect(S.socket().fileno(), b'\\1\\0/x' + bytes(12), 16) == 0",
    ],
)
async def test_every_other_way_out_is_refused(
    run: Callable[..., Any], service: int, tmp_path: Path, code: str
) -> None:
    outside = tmp_path / "outside"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(outside))
        server.listen()
        code = code.replace("PORT", str(service)).replace("OUTSIDE", os.fspath(outside))
        text = await run(f"python:{code}\nprint('got out')")
    assert "got out" not in text
    assert "[exit code 1]" in text


async def test_unix_socket_of_the_workspace_works(run: Callable[..., Any]) -> None:
    code = (
        "s = S.socket(S.AF_UNIX); s.bind('s'); s.listen()\n"
        "c = S.socket(S.AF_UNIX); c.connect('s'); a, _ = s.accept(); a.sendall(b'hello')\n"
        "print(c.recv(9), S.getaddrinfo('localhost', 80)[0][0].name)"
    )
    assert "b'hello' AF_INET" in await run("python:" + code)


async def test_socket_that_was_never_bound_listens_on_loopback_alone(
    run: Callable[..., Any],
) -> None:
    text = await run("python:s = S.socket(); s.listen(); print(s.getsockname()[0])")
    assert text.startswith("127.0.0.1\n")


@pytest.mark.long
async def test_address_that_changes_during_the_call_reaches_nothing(
    run: Callable[..., Any], service: int
) -> None:
    code = f"""
own = S.create_server(("127.0.0.1", 0), backlog=1000)
def address(port):
    return (2).to_bytes(2, "little") + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
good, bad = address(own.getsockname()[1]), address({service})
memory = ctypes.create_string_buffer(good, 16)
done = False
def flip():
    while not done:
        ctypes.memmove(memory, bad, 16); ctypes.memmove(memory, good, 16)
threading.Thread(target=flip).start()
libc, reached = ctypes.CDLL(None), set()
for _ in range(300):
    s = S.socket()
    if libc.connect(s.fileno(), memory, 16) == 0:
        reached.add(s.getpeername()[1])
    s.close()
done = True
print(reached == {{own.getsockname()[1]}})
"""
    assert "True" in await run("python:" + code)


@pytest.mark.long
async def test_everything_ends_with_the_sandbox(shell: Shell, run: Callable[..., Any]) -> None:
    text = await run("setsid -f sleep 1000; sleep 1000 & (setsid sleep 1000 &); sleep 1; echo ok")
    assert "ok" in text
    sleeping = [pid for pid in _processes() if b"sleep\x001000" in pid[1]]
    assert len(sleeping) >= 3
    await shell.teardown(shell.host)
    left = [pid for pid in _processes() if pid in sleeping]
    assert left == []


def _processes() -> list[tuple[str, bytes]]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            found.append((folder.name, (folder / "cmdline").read_bytes()))
        except OSError:
            continue
    return found
