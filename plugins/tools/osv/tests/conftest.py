"""An OSV service on loopback that refuses what the real one refuses, and a model that asks it.

The rules are those of the service's query parser and of its JSON gateway: unknown fields, unknown
ecosystems (in another spelling, too), a query without a name and a foreign page token are 400 with
``{"code": 3, "message": …}``; an unknown path is 404; nothing found is ``{}``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import ToolResult
from hookline_osv import Osv
from support.serving import serving

ECOSYSTEMS = frozenset(
    [
        "AlmaLinux",
        "Alpine",
        "Android",
        "Bitnami",
        "CRAN",
        "Chainguard",
        "Debian",
        "GHC",
        "Go",
        "Hackage",
        "Hex",
        "Linux",
        "Maven",
        "NuGet",
        "OSS-Fuzz",
        "Packagist",
        "Pub",
        "PyPI",
        "RubyGems",
        "SwiftURL",
        "Ubuntu",
        "crates.io",
        "npm",
    ]
)
FIELDS = {"package", "version", "commit", "page_token"}


class OsvServer:
    """``vulns`` by (ecosystem, name, version or ""); ``page`` advisories an answer; ``next`` is
    what the next request is answered instead: status, headers and body."""

    def __init__(self) -> None:
        self.vulns: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        self.page = 1000
        self.endless = False
        self.next: list[tuple[int, dict[str, str], bytes]] = []
        self.asked: list[dict[str, Any]] = []
        self.released = threading.Event()
        self.stall = False
        self.url = ""

    def answer(self, query: Any) -> tuple[int, dict[str, Any]]:
        if not isinstance(query, dict) or not set(query) <= FIELDS:
            return 400, {"code": 3, "message": "unknown field in the query", "details": []}
        self.asked.append(query)
        package = query.get("package") or {}
        if not set(package) <= {"name", "ecosystem", "purl"}:
            return 400, {"code": 3, "message": "unknown field in the package", "details": []}
        ecosystem, name = package.get("ecosystem", ""), package.get("name", "")
        if ecosystem and ecosystem not in ECOSYSTEMS:
            return 400, {"code": 3, "message": "invalid ecosystem", "details": []}
        if not name or not (ecosystem or query.get("version")):
            return 400, {"code": 3, "message": "invalid query", "details": []}
        return self._page(self.vulns.get((ecosystem, name, query.get("version", "")), []), query)

    def _page(
        self, found: list[dict[str, Any]], query: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        token = query.get("page_token", "at-0")
        if not token.startswith("at-"):
            return 400, {"code": 3, "message": "invalid cursor", "details": []}
        start = int(token[3:])
        body: dict[str, Any] = {}
        if shown := found[start : start + self.page]:
            body["vulns"] = shown
        if start + self.page < len(found) or self.endless:
            body["next_page_token"] = f"at-{start + self.page}"
        return 200, body


def _handler(osv: OsvServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            if osv.stall:
                osv.released.wait(60)
            if osv.next:
                self._send(*osv.next.pop(0))
                return
            if self.path != "/v1/query":
                status, body = 404, {"code": 5, "message": "Not Found", "details": []}
            else:
                status, body = osv.answer(json.loads(raw))
            self._send(status, {"content-type": "application/json"}, json.dumps(body).encode())

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def osv() -> Iterator[OsvServer]:
    """The service."""
    state = OsvServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    with serving(server, state.released):
        yield state


@pytest.fixture
def check(harness: Callable[..., Harness], osv: OsvServer) -> Callable[..., ToolResult]:
    """``check(package, ecosystem, version)`` is one call of the tool by a model."""
    made: list[Harness] = []

    def ask(package: str, ecosystem: str, version: str | None = None, **config: Any) -> ToolResult:
        settings = {"base_url": osv.url, **config}
        if not made or config:
            made.append(harness(Osv, config=settings))
        arguments = {"package": package, "ecosystem": ecosystem}
        if version is not None:
            arguments["version"] = version
        made[-1].model.steps += [calls("osv_check", **arguments), "done"]
        return made[-1].send("check it").tool_calls[0]

    return ask
