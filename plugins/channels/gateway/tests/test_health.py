"""What others can see of a gateway: ``gateway.state``, ``hookline health``, systemd."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from hookline_gateway.health import health_check, read_health
from hookline_hookspecs import CheckResult

from .conftest import PATIENCE, Gateways, Platform, end


@pytest.mark.slow
def test_health_shows_state_from_start_to_stop(gateways: Gateways) -> None:
    gateways.configure()
    code, said, _ = gateways.run("health")
    assert (code, "No gateway has run" in said) == (1, True)

    process, _ = gateways.start()
    assert gateways.run("health")[0] == 0
    code, said, _ = gateways.run("health", "--json")
    found = json.loads(said)
    assert (code, found["ok"], found["pid"], found["state"]) == (0, True, process.pid, "ready")
    assert found["channels"]["webhook"]["state"] == "up"
    file = gateways.home / "gateway.state"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    code, said, _ = gateways.run("health")
    assert (code, "is dead" in said) == (1, True)

    process, _ = gateways.start()
    assert end(process)[0] == 0
    code, said, _ = gateways.run("health")
    assert (code, "was stopped" in said) == (1, True)


def written(**changes: Any) -> str:
    """A state of a gateway that lives: this process."""
    channel = {"state": "up", "since": 0}
    base = {"pid": os.getpid(), "version": "1", "state": "ready", "since": 0, "heartbeat": 0}
    return json.dumps({**base, "channels": {"webhook": channel}, **changes})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (written(), "hangs"),
        (written(state="starting"), "is starting"),
        (written(heartbeat=9e99), "hangs"),
        (written(pid=0), "is not a valid state file"),
        (written(pid=-1), "is not a valid state file"),
        (written(pid="1"), "is not a valid state file"),
        (written(pid=2**80), "is not a valid state file"),
        ("", "is not a valid state file"),
        ("[]", "is not a valid state file"),
        ("{" * 100_000, "is not a valid state file"),
    ],
)
def test_unhealthy_state_is_explained(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "gateway.state").write_text(text)
    problem, _ = read_health(tmp_path)
    assert sentence in str(problem)


def test_doctor_reports_gateway_state(tmp_path: Path) -> None:
    def found(**changed: object) -> CheckResult:
        state = {"pid": os.getpid(), "state": "ready", "heartbeat": time.time(), "channels": {}}
        (tmp_path / "gateway.state").write_text(json.dumps(state | changed))
        return health_check(tmp_path)

    none = health_check(tmp_path)
    assert (none.ok, none.hint, none.detail) == (True, True, "no gateway is running")
    assert found(channels={"web": {"state": "up"}}).detail.startswith("up with web; its last")
    assert found(state="stopped").hint
    hanging = found(heartbeat=time.time() - 600)
    assert (hanging.ok, "hangs" in hanging.detail) == (False, True)
    (tmp_path / "gateway.state").write_text("[")
    assert not health_check(tmp_path).ok


def datagrams(listening: socket.socket, last: str) -> list[str]:
    """What was sent, line by line, up to ``last``."""
    listening.settimeout(PATIENCE)
    lines: list[str] = []
    while last not in lines:
        lines += listening.recv(4096).decode().split("\n")
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_is_notified(gateways: Gateways, tmp_path: Path, kind: str) -> None:
    gateways.configure()
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name if kind == "path" else f"\0{name}")
        env = {"NOTIFY_SOCKET": name if kind == "path" else f"@{name}", "WATCHDOG_USEC": "200000"}
        process, _ = gateways.start(**env)
        assert datagrams(listening, "STATUS=Up: webhook")[-2] == "READY=1"
        datagrams(listening, "WATCHDOG=1")
        assert end(process)[0] == 0
        assert datagrams(listening, "STOPPING=1")


@pytest.mark.slow
def test_missing_notify_socket_does_not_stop_gateway(gateways: Gateways, tmp_path: Path) -> None:
    gateways.configure()
    process, _ = gateways.start(NOTIFY_SOCKET=str(tmp_path / "nobody"))
    assert end(process)[0] == 0


@pytest.mark.slow
def test_tools_do_not_see_notify_socket(
    gateways: Gateways, platform: Platform, tmp_path: Path
) -> None:
    call = {"name": "peek", "arguments": {}}
    steps = [{"when": "look", "tools": [call]}, {"when": ".", "text": "done", "repeat": True}]
    gateways.install(
        "extra",
        "import os, sys\nfrom hookline_hookspecs import Plugin, tool\n"
        "class Extra(Plugin):\n    '''Looks around.'''\n"
        "    @tool(read_only=True)\n    def peek(self) -> str:\n        '''Look.'''\n"
        "        print('seen', *[sorted(n for n in os.environ if n in ('NOTIFY_SOCKET', "
        "'WATCHDOG_USEC'))], file=sys.stderr, flush=True)\n        return 'ok'\n",
    )
    gateways.configure(platform, json.dumps({"steps": steps}), extra=True)
    env = {"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "60000000"}
    process, _ = gateways.start(**env)
    gateways.say("m1", "look")
    assert platform.answer_to("m1") == "done"
    assert "seen []" in end(process)[1]
