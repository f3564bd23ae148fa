"""``hookline web`` in a project, on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 60
QUESTION = "Let chats on the page work in"


def started(home: Path, project: Path, answer: str) -> str:
    """What ``hookline web`` printed in a terminal until the gateway was up; it is answered once."""
    master, slave = pty.openpty()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home.parent),
        "LANG": "C.UTF-8",
        "HOOKLINE_HOME": str(home),
        "TERM": "dumb",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "hookline", "web", "--no-open"],
        cwd=project,
        env=environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    text, answered, ends = "", False, time.monotonic() + PATIENCE
    try:
        while "Press Ctrl+C" not in text and time.monotonic() < ends:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                text += os.read(master, 65536).decode("utf-8", "replace")
            except OSError:
                break
            if "[Y/n]" in text and not answered:
                answered = True
                os.write(master, answer.encode() + b"\n")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(master)
    return text


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    model = tmp_path / "model.yaml"
    model.write_text(json.dumps({"steps": [{"when": ".", "text": "hi", "repeat": True}]}))
    plugins = {"web-server": {"listen": f"127.0.0.1:{port}"}, "web-ui": True, "titles": False}
    config = {"model": f"scripted/{model}", "plugins": plugins}
    (folder / "config.yaml").write_text(json.dumps(config))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.slow
def test_project_is_asked_about_once_and_then_used(home: Path, project: Path) -> None:
    text = started(home, project, "y")
    assert f"{QUESTION} {project}?" in text
    assert f"New chats work in {project}." in text
    text = started(home, project, "n")
    assert QUESTION not in text
    assert f"New chats work in {project}." in text


@pytest.mark.slow
def test_refused_project_is_not_used(home: Path, project: Path) -> None:
    text = started(home, project, "n")
    assert QUESTION in text
    assert "New chats work in" not in text
    assert "Press Ctrl+C" in text


@pytest.mark.slow
def test_folder_outside_repositories_is_not_asked_about(home: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    text = started(home, plain, "y")
    assert QUESTION not in text
    assert "Press Ctrl+C" in text
