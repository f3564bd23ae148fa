"""A cluster of real processes around a schema of the run's PostgreSQL server, on one machine.

Each process has a home of its own, as on a machine of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

SECRET = "correct horse battery staple"
PATIENCE = 120.0
"""Seconds until a test gives up; none waits for it to pass."""
ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


class Replies:
    """Takes the replies of webhook channels."""

    def __init__(self) -> None:
        self.posts: list[Mapping[str, Any]] = []
        self._changed = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer._changed:
                    outer.posts.append(json.loads(body) | {"at": time.monotonic()})
                    outer._changed.notify_all()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/replies"

    def wait_for(self, count: int, patience: float = PATIENCE) -> list[str]:
        """The texts of the first replies, once there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.posts) >= count, patience), self.posts
            return [str(post["text"]) for post in self.posts]

    def answer_to(self, id_: str) -> Mapping[str, Any]:
        """The reply to a message."""

        def found() -> Mapping[str, Any] | None:
            return next((post for post in self.posts if post["in_reply_to"] == id_), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, PATIENCE), self.posts
        answer = found()
        assert answer is not None
        return answer

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass
class Machine:
    """A home, and the process that runs on it."""

    home: Path
    port: int
    process: subprocess.Popen[str] | None = None
    said: list[str] = field(default_factory=list)
    reading: threading.Thread | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def send(self, number: int) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; return the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        return self.process.returncode

    def wait_until_said(self, words: str) -> None:
        """Wait for a line on stderr."""
        deadline = time.monotonic() + PATIENCE
        while not any(words in line for line in self.said):
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)


@dataclass
class Cluster:
    """Machines by name."""

    folder: Path
    store: str
    replies: Replies
    machines: dict[str, Machine] = field(default_factory=dict)
    script: str = ECHO
    plugins: dict[str, Any] = field(default_factory=lambda: {"cluster": True})
    core: dict[str, Any] = field(default_factory=dict)
    """Settings beside those of plugins."""

    def machine(self, name: str, **more: Any) -> Machine:
        """A machine, made at the first call; ``more`` are settings of plugins."""
        if (found := self.machines.get(name)) is not None:
            return found
        made = self.machines[name] = Machine(self.folder / name, free_port())
        made.home.mkdir(mode=0o700)
        model = self.folder / "model.yaml"
        model.write_text(self.script)
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": {"allow": ["webhook:*"]},
            "webhook": {
                "listen": f"127.0.0.1:{made.port}",
                "secret": SECRET,
                "reply_url": self.replies.url,
            },
            **self.plugins,
            **more,
        }
        config = {"model": f"scripted/{model}", "store": self.store, **self.core, "plugins": chosen}
        (made.home / "config.yaml").write_text(json.dumps(config))
        return made

    def start(self, name: str, *command: str, env: Mapping[str, str] = {}) -> Machine:
        """Start a command on a machine and wait until it says ``ready``."""
        machine = self.machine(name)
        machine.said = []
        if machine.reading is not None:
            machine.reading.join()
        machine.process = self._spawn(machine, *command, env=env, stdout=subprocess.DEVNULL)
        stderr = machine.process.stderr
        assert stderr is not None

        def read(said: list[str] = machine.said) -> None:
            with stderr:
                for line in stderr:
                    said.append(line)

        machine.reading = threading.Thread(target=read, daemon=True)
        machine.reading.start()
        deadline = time.monotonic() + PATIENCE
        while "ready\n" not in machine.said:
            assert machine.process.poll() is None, machine.said
            assert time.monotonic() < deadline, machine.said
            time.sleep(0.01)
        return machine

    def run(self, name: str, *command: str) -> tuple[int, str, str]:
        """A command to its end: code, stdout, stderr."""
        process = self._spawn(self.machine(name), *command)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def status(self, name: str) -> dict[str, Any]:
        """``hookline cluster status --json``."""
        code, out, err = self.run(name, "cluster", "status", "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    def post(self, name: str, id_: str, text: str = "hello", chat: str = "c1") -> int:
        """Send a message to a machine's webhook; the HTTP status."""
        content = {"id": id_, "chat": chat, "user": chat, "text": text}
        body = json.dumps(content).encode()
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        return httpx2.post(
            f"http://127.0.0.1:{self.machine(name).port}/webhook",
            content=body,
            headers={"X-Hookline-Signature": f"sha256={digest}"},
            timeout=PATIENCE,
            trust_env=False,
        ).status_code

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _spawn(
        self,
        machine: Machine,
        *command: str,
        env: Mapping[str, str] = {},
        stdout: int = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(machine.home), "LANG": "C.UTF-8"}
        return subprocess.Popen(
            [sys.executable, "-m", "hookline", *command],
            cwd=self.folder,
            env=base | {"HOOKLINE_HOME": str(machine.home)} | env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        for machine in self.machines.values():
            if machine.process is not None and machine.reading is not None:
                machine.process.send_signal(signal.SIGCONT)
                machine.process.kill()
                machine.process.wait()
                machine.reading.join()


@pytest.fixture
def cluster(tmp_path: Path, postgres_url: str) -> Iterator[Cluster]:
    replies = Replies()
    made = Cluster(tmp_path, postgres_url, replies)
    yield made
    made.close()
    replies.close()
