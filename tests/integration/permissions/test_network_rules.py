"""Hosts that sandboxed commands reach: the question, the rule that it leaves, and own ports."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_permissions import Permissions
from hookline_sandbox import found
from hookline_shell import Shell

MakeHarness = Callable[..., Harness]
HOST = "packages.invalid"
FETCH = f"python3 fetch.py http://{HOST}/"
FETCH_SCRIPT = """import sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
CONNECT_SCRIPT = """import socket, sys
print(socket.create_connection(("localhost", int(sys.argv[1])), 5).recv(99))
"""


@pytest.fixture(autouse=True)
def namespaces() -> None:
    if not found().method.has_namespaces:
        pytest.skip(found().why)


def run(h: Harness, *commands: str, **options: Any) -> list[str]:
    h.workspace.mkdir(parents=True, exist_ok=True)
    (h.workspace / "fetch.py").write_text(FETCH_SCRIPT)
    (h.workspace / "connect.py").write_text(CONNECT_SCRIPT)
    h.model.steps += [*(calls("bash", command=command) for command in commands), "done"]
    return [result.text for result in h.send("go", **options).tool_calls]


def config(*allow: str) -> dict[str, Any]:
    return {"permissions": {"allow": list(allow)}}


@pytest.mark.long
def test_new_host_asks_with_the_command_and_the_answer_lasts(harness: MakeHarness) -> None:
    answers = [f"Allow {HOST} in this session"]
    h = harness(Permissions, Shell, config=config(), answers=answers)
    first, second = run(h, FETCH, FETCH)
    assert "502 Hookline" in first  # permitted, and the name does not exist
    assert "502 Hookline" in second
    (question,) = h.questions
    assert question.text.startswith(f"Allow access to {HOST}?")
    assert question.preview == FETCH
    assert question.choices == (
        "Allow once",
        f"Allow {HOST} in this session",
        f"Allow {HOST} always in this chat",
        "Deny",
    )


def test_host_of_an_approved_command_is_not_asked_about_again(harness: MakeHarness) -> None:
    settings = {"permissions": {"ask": ["bash(python3 fetch.py *)"]}}
    h = harness(Permissions, Shell, config=settings)
    elsewhere = f"python3 fetch.py http://{HOST[:4]}''{HOST[4:]}/"  # the person has not seen it
    for text, command in zip(("502 Hookline", "403 Hookline"), (FETCH, elsewhere), strict=True):
        h.answers[:] = ["Allow once", "Deny"]
        assert text in run(h, command)[0]


def test_host_is_refused_with_the_way_to_grant_it_if_nobody_is_there(harness: MakeHarness) -> None:
    h = harness(Permissions, Shell, config=config())
    (text,) = run(h, FETCH, approve="no")
    assert "403 Hookline" in text
    assert text.count(f"`hookline permissions add allow 'network({HOST})'`") >= 2  # also as a note
    granted = harness(Permissions, Shell, config=config(f"network({HOST})"))
    assert "502 Hookline" in run(granted, FETCH, approve="no")[0]


@pytest.fixture
def service() -> Iterator[int]:
    """A service of the person's on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    with server.accept()[0] as one:
                        one.sendall(b"own service\n")
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_own_port_is_reached_only_with_a_rule_that_names_it(
    harness: MakeHarness, service: int
) -> None:
    connect = f"python3 connect.py {service}"
    h = harness(Permissions, Shell, config=config("network"))
    assert "own service" not in run(h, connect, approve="no")[0]
    granted = harness(Permissions, Shell, config=config(f"network(localhost:{service})"))
    assert run(granted, connect, approve="no")[0].startswith("b'own service")
