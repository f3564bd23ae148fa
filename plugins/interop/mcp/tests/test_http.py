"""Servers over HTTP: guarded connections, ended sessions, missing logins."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.serving import serving

HERE = {"network.allow_hosts": ["127.0.0.1"]}


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP with JSON answers; it refuses what a server may refuse by the protocol."""

    server: Any
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message, site = json.loads(body), self.server
        site.asked.append((message.get("method"), dict(self.headers.items())))
        if site.status:
            self._reply(site.status, b"", **site.more)
            return
        method, id_ = message.get("method"), message.get("id")
        session = self.headers.get("mcp-session-id")
        if method != "initialize" and "jsonrpc" in message and session != str(site.session):
            self._reply(404 if session else 400, b"")
        elif id_ is None:
            self._reply(202, b"")
        elif method == "initialize":
            about = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
            self._say(id_, about, **{"mcp-session-id": str(site.session)})
        elif method == "tools/list":
            self._say(id_, {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]})
        else:
            self._say(id_, {"content": [{"type": "text", "text": site.text}]})

    def do_GET(self) -> None:
        self._reply(405, b"")

    def do_DELETE(self) -> None:
        self._reply(200, b"")

    def _say(self, id_: Any, result: Any, **headers: str) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode()
        kind = "application/json"
        if self.server.events:
            body = b": hello\r\nevent: message\r\ndata: " + body + b"\r\n\r\n"
            kind = "text/event-stream; charset=utf-8"
        self._reply(200, body, **{"Content-Type": kind, **headers})

    def _reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site(mcp_home: Any) -> Iterator[Any]:
    """A server on loopback, named `web` in the home's config."""
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.events = False
    made.asked, made.session, made.status, made.more, made.text = [], 1, 0, {}, "hello"
    made.url = f"http://127.0.0.1:{made.server_address[1]}/mcp"
    entry = {"url": made.url, "headers": {"X-Key": "k-1"}, "approval": "never"}
    mcp_home.config["servers"]["web"] = entry
    mcp_home.core = HERE
    with serving(made):
        yield made


def test_http_tool_is_called_with_configured_headers(mcp_home: Any, site: Any) -> None:
    mcp_home.cli("mcp approve web --yes")
    result = mcp_home.call("mcp__web__say")
    assert result.text == "hello"
    method, headers = next(one for one in site.asked if one[0] == "tools/call")
    assert headers["X-Key"] == "k-1"
    assert method == "tools/call"


def test_private_address_is_refused_unless_allowed(mcp_home: Any, site: Any) -> None:
    mcp_home.core = {}
    output = mcp_home.cli("mcp test web", code=1)
    assert "cannot reach" in output
    assert "127.0.0.1" in output
    assert site.asked == []


def test_server_without_tls_is_told_with_the_right_address(
    mcp_home: Any, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_mcp.guarded_http.CONNECT_TIMEOUT", 0.3)
    mcp_home.config["servers"]["web"]["url"] = site.url.replace("http://", "https://")
    host = site.url.split("/")[2]
    assert f"{host} speaks plain HTTP. Write http:// instead of https://" in mcp_home.cli(
        "mcp test web", code=1
    )


@pytest.mark.parametrize("events", [False, True])
def test_text_that_the_sdk_cannot_read_is_read(mcp_home: Any, site: Any, events: bool) -> None:
    """Half a surrogate pair, as JavaScript leaves it when it cuts a text."""
    site.events, site.text = events, "half \ud83d, whole \U0001f600"
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "half \ufffd, whole \U0001f600"


def test_session_forgotten_by_server_is_restarted(mcp_home: Any, site: Any) -> None:
    from hookline.testing import calls

    mcp_home.cli("mcp approve web --yes")
    agent = mcp_home.agent(model=[calls("mcp__web__say"), "done", calls("mcp__web__say"), "done"])
    assert agent.send("one").tool_calls[0].ok
    site.session += 1
    assert agent.send("two").tool_calls[0].text == "hello"


def test_missing_login_is_reported_with_the_command(mcp_home: Any, site: Any) -> None:
    site.status, site.more = 401, {"www-authenticate": "Bearer"}
    assert "(status 401); the server requires a login: set `auth: oauth`" in mcp_home.cli(
        "mcp test web", code=1
    )
    mcp_home.config["servers"]["web"]["auth"] = "oauth"
    assert "requires a login: run hookline mcp login web" in mcp_home.cli("mcp test web", code=1)
    tokens = Path(mcp_home.home) / "mcp" / "tokens" / "web.json"
    assert not tokens.exists()


def test_redirect_to_another_host_is_not_followed(mcp_home: Any, site: Any) -> None:
    site.status, site.more = 307, {"location": "http://127.0.0.2:9/mcp"}
    output = mcp_home.cli("mcp test web", code=1)
    assert "cannot reach" in output
    assert "127.0.0.2" in output


@pytest.mark.slow
def test_too_large_response_fails_the_call(mcp_home: Any, site: Any) -> None:
    mcp_home.cli("mcp approve web --yes")
    site.text = "x" * 20_000_000
    assert not mcp_home.call("mcp__web__say").ok


@pytest.mark.long
@pytest.mark.parametrize("status", [403, 500, 503])
def test_refused_connection_reports_status(mcp_home: Any, site: Any, status: int) -> None:
    site.status = status
    assert f"(status {status})" in mcp_home.cli("mcp test web", code=1)


def test_tokens_are_private_and_bound_to_the_address(tmp_path: Path) -> None:
    import asyncio

    from hookline_mcp.oauth import TokenFile
    from mcp.shared.auth import OAuthToken

    class Known:
        oauth_metadata = protected_resource_metadata = auth_server_url = None

    def at(url: str) -> TokenFile:
        made = TokenFile(tmp_path / "tokens" / "web.json", url, None)
        made.context = Known()
        return made

    async def keep() -> None:
        await at("https://a.example/mcp").set_tokens(OAuthToken(access_token="t-1", expires_in=60))
        kept = await at("https://a.example/mcp").get_tokens()
        assert kept is not None
        assert kept.access_token == "t-1"
        assert await at("https://b.example/mcp").get_tokens() is None

    asyncio.run(keep())
    assert stat.S_IMODE((tmp_path / "tokens" / "web.json").stat().st_mode) == 0o600
