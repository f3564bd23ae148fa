"""A strict server that takes replies, and gateways in real processes."""

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

SECRET = "correct horse battery staple"
PATIENCE = 120
"""Seconds until a test gives up; none waits for it to pass."""


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    """The headers of a request with this body."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hookline-Signature": f"sha256={digest}"}


def message(
    id_: str, text: str = "hello", chat: str = "c1", user: str = "ann", **more: str
) -> bytes:
    """The body of a message."""
    return json.dumps({"id": id_, "chat": chat, "user": user, "text": text, **more}).encode()


@dataclass(frozen=True)
class Posted:
    """A reply that was posted, and what it was answered with."""

    body: Mapping[str, Any]
    status: int


class ReplyServer:
    """Takes signed replies. ``script`` is what it answers first: status and headers."""

    def __init__(self) -> None:
        self.posts: list[Posted] = []
        self.script: list[tuple[int, dict[str, str]]] = []
        self._changed = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._take(self)

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

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        wanted = signed(body)["X-Hookline-Signature"]
        with self._changed:
            status, headers = self.script.pop(0) if self.script else (200, {})
            is_sound = (
                request.headers["X-Hookline-Signature"] == wanted
                and request.headers["Content-Type"] == "application/json"
                and request.path == "/replies"
            )
            if not is_sound:
                status, headers = 401, {}
            self.posts.append(Posted(json.loads(body), status))
            self._changed.notify_all()
        request.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            request.send_header(name, value)
        request.end_headers()

    @property
    def taken(self) -> list[Mapping[str, Any]]:
        """The confirmed replies, each id once, in order of arrival."""
        confirmed = {post.body["id"]: post.body for post in self.posts if post.status < 300}
        return list(confirmed.values())

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        with self._changed:
            assert self._changed.wait_for(until, PATIENCE), [post.body for post in self.posts]

    def wait_for(self, count: int) -> list[Mapping[str, Any]]:
        """Wait for so many confirmed replies."""
        self.wait(lambda: len(self.taken) >= count)
        return self.taken

    def answer_to(self, id_: str) -> str:
        """Wait for the reply to a message; return its text."""
        self.wait(lambda: any(body["in_reply_to"] == id_ for body in self.taken))
        return next(str(body["text"]) for body in self.taken if body["in_reply_to"] == id_)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def replies() -> Iterator[ReplyServer]:
    made = ReplyServer()
    yield made
    made.close()


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


@dataclass
class Gateways:
    """``hookline gateway`` processes on one home, one after the other."""

    folder: Path
    replies: ReplyServer
    port: int = field(default_factory=free_port)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/webhook"

    def configure(self, script: str = ECHO, access: Any = None, **plugins: Any) -> None:
        """Write ``config.yaml`` and what the model says."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(script)
        chosen = {
            **dict.fromkeys(OFF, False),
            "access": access if access is not None else {"allow": ["webhook:*"]},
            "webhook": {
                "listen": f"127.0.0.1:{self.port}",
                "secret": SECRET,
                "reply_url": self.replies.url,
            },
            **plugins,
        }
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", *arguments],
            cwd=self.folder,
            env=base | {"HOOKLINE_HOME": str(self.home)} | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def start(self, **env: str) -> subprocess.Popen[str]:
        """A gateway that is ready."""
        return self.start_until("ready\n", **env)[0]

    def start_until(self, *wanted: str, **env: str) -> tuple[subprocess.Popen[str], list[str]]:
        """A gateway that has printed all of this, in any order, and its output."""
        process = self.spawn("gateway", **env)
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if all(any(words in line for line in lines) for words in wanted):
                return process, lines
        raise AssertionError(f"the gateway ended: {lines}")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """``hookline`` to its end: code, stdout, stderr."""
        process = self.spawn(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def post(self, body: bytes, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """Post a body, signed if no headers are given."""
        given = signed(body) if headers is None else dict(headers)
        return httpx2.post(self.url, content=body, headers=given, timeout=PATIENCE, trust_env=False)

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate()


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; return the exit code."""
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    return process.returncode


@pytest.fixture
def gateways(tmp_path: Path, replies: ReplyServer) -> Iterator[Gateways]:
    made = Gateways(tmp_path, replies)
    yield made
    made.close()
