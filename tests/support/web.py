"""A web server for tests: in a harness, or a real gateway, with clients that are logged in.

In the event loop of a harness::

    h = harness(MyPages, *web_plugins(), config={"my-pages": {}, **WEB})

    async def story():
        async with listening(h) as site:
            async with site.client() as owner, site.client("mia", "person") as mia:
                assert (await owner.get("/my-pages")).status_code == 200

    h.run(story())

A real gateway, which a browser can open and a test can kill::

    with gateway(tmp_path, "steps: [{text: hi, repeat: true}]") as running:
        page.goto(running.link()["url"])
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import httpx2

from .processes import store_environment

WEB: dict[str, Any] = {"web-server": {"listen": "127.0.0.1:0"}, "access": {}}
"""Settings of :func:`web_plugins`: a port that the system chooses, and nobody let in."""
AGENT = "a test"


def plugin(name: str) -> type[Any]:
    """Return the class of an installed plugin, for a harness."""
    (point,) = entry_points(group="hookline.plugins", name=name)
    found: type[Any] = point.load()
    return found


def web_plugins() -> tuple[type[Any], ...]:
    """Return the plugins that a page needs: ``access`` and ``web-server``."""
    return plugin("access"), plugin("web-server")


@dataclass(frozen=True)
class Site:
    """A web server that listens: its address, and the service ``WebServer``."""

    url: str
    server: Any

    @asynccontextmanager
    async def client(
        self,
        name: str | None = "owner",
        role: Literal["operator", "person", "auditor"] = "operator",
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client that is logged in as ``web:NAME``; as nobody, if ``name`` is None."""
        own = {"Accept": "application/json", "Origin": self.url, "User-Agent": AGENT}
        async with httpx2.AsyncClient(
            base_url=self.url, headers=own, trust_env=False, timeout=60
        ) as client:
            if name is not None:
                link = await self.server.link(name, role)
                found = await client.post("/login", json={"code": link.code})
                assert found.status_code == 200, found.text
            yield client


@asynccontextmanager
async def listening(harness: Any) -> AsyncIterator[Site]:
    """Listen while the block runs, in the loop of a harness with :func:`web_plugins`."""
    await harness.aopen()
    server = harness.plugin(plugin("web-server")).shared
    url = await server.acquire()
    try:
        yield Site(url, server)
    finally:
        await server.release()


@dataclass
class Gateway:
    """``hookline gateway`` with the page, in a process of its own; see :func:`gateway`."""

    folder: Path
    url: str
    process: subprocess.Popen[str]

    @property
    def home(self) -> Path:
        """The home folder."""
        return self.folder / "home"

    def link(self, person: str | None = None) -> dict[str, Any]:
        """Return what ``hookline web --json`` prints: ``url``, ``code`` and ``expires``."""
        more = ["--person", person] if person is not None else []
        done = run(self.folder, "web", "--json", *more)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    @contextmanager
    def client(self, person: str | None = None) -> Iterator[httpx2.Client]:
        """Yield a client that is logged in, as the operator if no person is named."""
        own = {"Accept": "application/json", "Origin": self.url}
        with httpx2.Client(base_url=self.url, headers=own, trust_env=False, timeout=60) as client:
            found = client.post("/login", json={"code": self.link(person)["code"]})
            assert found.status_code == 200, found.text
            yield client

    def start(self) -> None:
        """Start the gateway, again after it was killed."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "gateway"], **streams(self.folder)
        )
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line == "ready\n":
                return
        raise AssertionError(f"the gateway ended: {said}")

    def stop(self) -> None:
        """End the gateway, at once."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def gateway(
    folder: Path, script: str, settings: Mapping[str, Any] | None = None, **plugins: Any
) -> Iterator[Gateway]:
    """Run a gateway with ``web-server``, ``web-ui`` and a scripted model while the block runs.

    Args:
        folder: a temporary folder, for the home and the model's words.
        script: the scripted model's YAML, such as ``steps: [{text: hi, repeat: true}]``.
        settings: more of config, besides ``model`` and ``plugins``.
        plugins: more of config's ``plugins``, with ``_`` for ``-``.
    """
    port = free_port()
    home = folder / "home"
    home.mkdir(mode=0o700)
    (folder / "model.yaml").write_text(script)
    chosen = {
        "web-server": {"listen": f"127.0.0.1:{port}"},
        "web-ui": True,
        **{name.replace("_", "-"): value for name, value in plugins.items()},
    }
    model = f"scripted/{folder / 'model.yaml'}"
    config = {"model": model, "plugins": chosen, **(settings or {})}
    (home / "config.yaml").write_text(json.dumps(config))
    made = Gateway(folder, f"http://127.0.0.1:{port}", None)  # type: ignore[arg-type]
    made.start()
    try:
        yield made
    finally:
        made.stop()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``hookline`` on the home in a folder to its end."""
    words = [sys.executable, "-m", "hookline", *arguments]
    return subprocess.run(words, timeout=120, **streams(folder))


def streams(folder: Path) -> dict[str, Any]:
    """Return options of ``Popen`` for ``hookline`` on the home in a folder."""
    own = {"HOME": str(folder), "HOOKLINE_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    return {
        "cwd": folder,
        "env": {"PATH": os.environ["PATH"], **store_environment(), **own},
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
