"""Gateways in real processes on the webhook, and a platform that takes their replies."""

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest

SECRET = "correct horse battery staple"
PATIENCE = 120
"""Seconds until a test gives up; none waits for it to pass."""
ECHO = 'steps: [{when: ".", text: "answered", repeat: true}]\n'
SLOW = 'steps: [{when: ".", text: "slow", delay: 100000, repeat: true}]\n'
OFF = (
    *("files", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here."""


class Platform:
    """Takes replies once it is opened."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """What was said, by the id of the message that it answers."""
        self.all: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._server: ThreadingHTTPServer | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._address = probe.getsockname()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._address[1]}/replies"

    def open(self) -> None:
        """Begin to take replies."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._changed:
                    outer.all.append(body)
                    outer.texts[str(body["in_reply_to"])] = body["text"]
                    outer._changed.notify_all()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(self._address, Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answer_to(self, id_: str) -> str:
        """Wait for the reply to a message."""
        with self._changed:
            assert self._changed.wait_for(lambda: id_ in self.texts, PATIENCE), self.all
        return self.texts[id_]

    def one_that(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for the first reply that fits."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(map(fits, self.all)), PATIENCE), self.all
        return next(body for body in self.all if fits(body))

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


@pytest.fixture
def platform() -> Iterator[Platform]:
    made = Platform()
    made.open()
    yield made
    made.close()


@pytest.fixture
def unreachable_platform() -> Iterator[Platform]:
    """A platform that is unreachable before it is opened."""
    made = Platform()
    yield made
    made.close()


@dataclass
class Gateways:
    """``hookline`` processes on one home, one after the other."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    port: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(
        self, platform: Platform | None = None, script: str = ECHO, **plugins: Any
    ) -> None:
        """Write ``config.yaml`` and what the model says."""
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        self.home.mkdir(mode=0o700, exist_ok=True)
        model = self.folder / "model.yaml"
        model.write_text(script)
        webhook = {"listen": f"127.0.0.1:{self.port}", "secret": SECRET}
        if platform is not None:
            webhook["reply_url"] = platform.url
        allow = {"allow": ["webhook:*"]}
        chosen = {**dict.fromkeys(OFF, False), "access": allow, "webhook": webhook, **plugins}
        config = {"model": f"scripted/{model}", "plugins": chosen}
        (self.home / "config.yaml").write_text(json.dumps(config))

    def install(self, name: str, code: str) -> None:
        """Install a plugin whose class is ``Extra``; it is not switched on by that."""
        folder = self.folder / "site"
        info = folder / f"extra_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"extra_{name}.py").write_text(code, "utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: extra-{name}\nVersion: 1.0\n")
        entry = f"[hookline.plugins]\n{name} = extra_{name}:Extra\n"
        (info / "entry_points.txt").write_text(entry, "utf-8")
        self.env["PYTHONPATH"] = str(folder)

    def spawn(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``hookline``."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", *arguments],
            cwd=self.folder,
            env=base | {"HOOKLINE_HOME": str(self.home)} | self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def start(self, *wanted: str, **env: str) -> tuple[subprocess.Popen[str], list[str]]:
        """Start a gateway; return it and its lines once it is ready and has printed all of this."""
        process = self.spawn("gateway", **env)
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            said = all(any(words in line for line in lines) for words in wanted)
            if said and "ready\n" in lines:
                return process, lines
        raise AssertionError(f"the gateway ended: {lines}")

    def run(self, *arguments: str, **env: str) -> tuple[int, str, str]:
        """``hookline`` to its end: code, stdout, stderr."""
        process = self.spawn(*arguments, **env)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def say(self, id_: str, text: str = "hello", user: str = "ann", chat: str = "") -> int:
        """Send a message, in the sender's own chat if none is named; return the HTTP status."""
        data = {"id": id_, "chat": chat or user, "user": user, "text": text}
        body = json.dumps(data).encode()
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        request = Request(
            f"http://127.0.0.1:{self.port}/webhook",
            body,
            {"X-Hookline-Signature": f"sha256={digest}"},
        )
        with build_opener(ProxyHandler({})).open(request, timeout=PATIENCE) as response:
            status: int = response.status
        return status

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate()


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    """Send a signal and wait for the end; return the exit code and the rest of the output."""
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err


@pytest.fixture
def gateways(tmp_path: Path) -> Iterator[Gateways]:
    made = Gateways(tmp_path)
    yield made
    made.close()
