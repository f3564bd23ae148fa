"""A model that answers by its prompt, and gateways in real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from support.openai_server import OpenAIServer, Reply, Use

TEST_TIMEOUT = 120
"""Seconds until a test gives up; none waits for it to pass."""
OFF = (
    *("web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "provenance"),
)
"""Plugins that cost time and do nothing here."""


def last_words(asked: Any) -> tuple[str, bool]:
    """The last text of the user, without its context, and whether results of tools follow it."""
    messages = [one for one in asked["messages"] if one["role"] != "system"]
    words, after = "", False
    for message in messages:
        if message["role"] == "user":
            content = message["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            texts = [part["text"] for part in parts if part.get("text")]
            words, after = next((t for t in texts if not t.startswith("<context>")), ""), False
        elif message["role"] == "tool":
            after = True
    return words, after


def say(asked: Any) -> Reply | str:
    """What the model says: ``say X`` is answered with ``X``, ``count N`` slowly with N words."""
    words, after = last_words(asked)
    verb, _, rest = words.partition(" ")
    if verb == "list" and not after:
        return Reply("Let me look.", tools=[Use("list_dir", {"path": "."})])
    if verb == "sudo" and not after:
        return Reply(tools=[Use("bash", {"command": "sudo true"})])
    if verb == "count":
        return Reply(" ".join(map(str, range(int(rest)))), pace=0.05, piece=2)
    if verb == "edit":
        return "hello.py\n```\nprint(2)\n```\n"
    if verb == "fail":
        return Reply(status=400, body={"error": {"message": "the model is out of order"}})
    return rest if verb == "say" else f"You said: {words}"


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass
class Served:
    """A home, its model and its gateway."""

    folder: Path
    model: OpenAIServer
    port: int = field(default_factory=free_port)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    clients: list[OpenAI] = field(default_factory=list)
    key: str = ""
    since: int = 0
    """The model's requests before this one are of others."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def configure(self, **plugins: Any) -> None:
        """Write ``config.yaml``."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        chosen = {
            **dict.fromkeys(OFF, False),
            "web-server": {"listen": f"127.0.0.1:{self.port}"},
            "openai-api": True,
            "access": {"admins": ["telegram:1"]},
            **plugins,
        }
        openai = {"base_url": self.model.base_url, "api_key": "test", "wire": "chat"}
        config = {"model": "openai/gpt-test", "providers": {"openai": openai}, "plugins": chosen}
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
        process = self.spawn("gateway", **env)
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line == "ready\n":
                return process
        raise AssertionError(f"the gateway ended: {lines}")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """``hookline`` to its end: code, stdout, stderr."""
        process = self.spawn(*arguments)
        out, err = process.communicate(timeout=TEST_TIMEOUT)
        return process.returncode, out, err

    def new_key(self, name: str) -> str:
        """A key for ``name``, by the command."""
        code, out, err = self.run("api", "keys", "add", name, "--json")
        assert code == 0, err
        made: dict[str, str] = json.loads(out)
        assert made["name"] == name
        return made["key"]

    def client(self, key: str = "", **options: Any) -> OpenAI:
        """OpenAI's client, with the own key unless another is given."""
        options = {"max_retries": 0, "timeout": TEST_TIMEOUT, **options}
        made = OpenAI(api_key=key or self.key, base_url=self.url, **options)
        self.clients.append(made)
        return made

    def post(self, path: str, body: Any, key: str = "", **headers: str) -> httpx2.Response:
        """Post JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.post(
            self.url + path, content=content, headers=own, timeout=TEST_TIMEOUT, trust_env=False
        )

    def asked(self, words: str) -> list[Any]:
        """The requests that the model got whose last user text is this."""
        mine = self.model.requests[self.since :]
        bodies = [one.json for one in mine if one.json and "messages" in one.json]
        return [body for body in bodies if last_words(body)[0] == words]

    def run_states(self, run_id: str) -> list[str]:
        """What the store says of a request."""
        with contextlib.closing(sqlite3.connect(self.home / "hookline.db")) as db:
            query = "SELECT state FROM openai_api_runs WHERE id = ?"
            return [row[0] for row in db.execute(query, [run_id])]

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for process in self.running:
            process.kill()
            process.communicate()


def until(true: Any) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + TEST_TIMEOUT
    while not true():
        assert time.monotonic() < end, "it never was so"
        time.sleep(0.02)


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """Send a signal and wait for the end; return the exit code."""
    process.send_signal(number)
    process.communicate(timeout=TEST_TIMEOUT)
    return process.returncode


def _served(folder: Path) -> Iterator[Served]:
    with OpenAIServer(say) as model:
        made = Served(folder, model)
        made.configure()
        made.key = made.new_key("ann")
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Served]:
    """A home without a gateway yet."""
    yield from _served(tmp_path)


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway that all tests of a process share."""
    for made in _served(tmp_path_factory.mktemp("served")):
        made.start()
        yield made


_times = count(1)


@pytest.fixture(scope="module")
def served(gateway: Served, request: pytest.FixtureRequest) -> Served:
    """The shared gateway, with a key of the module's own, whose requests are counted apart."""
    name = request.module.__name__.rpartition(".")[2]
    # The tests of a module may come in parts, between those of others.
    name = f"{name}-{next(_times)}"
    return replace(gateway, key=gateway.new_key(name), since=len(gateway.model.requests))
