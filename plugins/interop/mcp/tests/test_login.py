"""Login with OAuth: by browser, by pasting, and by renewed tokens."""

from __future__ import annotations

import io
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, HooklineError, Plugin, Question, hookimpl
from hookline_mcp import Mcp
from hookline_mcp.login import log_in
from hookline_mcp.oauth import parse_redirect
from support.serving import serving
from support.web import free_port


class Provider(BaseHTTPRequestHandler):
    """An MCP server that is its own provider; it refuses what it did not issue."""

    server: Any

    def do_GET(self) -> None:
        parts, site = urlsplit(self.path), self.server
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            self._json({"resource": f"{site.base}/mcp", "authorization_servers": [site.base]})
        elif parts.path.startswith("/.well-known/oauth-authorization-server"):
            ends = ("authorize", "token", "register")
            names = ("authorization_endpoint", "token_endpoint", "registration_endpoint")
            places = {n: f"{site.base}/{e}" for n, e in zip(names, ends, strict=True)}
            supported = {"response_types_supported": ["code"], "grant_types_supported": GRANTS}
            methods = {"code_challenge_methods_supported": ["S256"]}
            self._json({"issuer": site.base, **places, **supported, **methods})
        elif parts.path == "/authorize":
            asked = {name: found[0] for name, found in parse_qs(parts.query).items()}
            site.scopes.append(asked.get("scope", ""))
            answer = urlencode({"code": "c-1", "state": asked["state"]})
            self.send_response(302)
            self.send_header("location", f"{asked['redirect_uri']}?{answer}")
            self.end_headers()
        else:
            self._json({}, 404)

    def do_POST(self) -> None:
        body, site = self.rfile.read(int(self.headers["content-length"])).decode(), self.server
        if self.path == "/register":
            given = {"client_id": "client-1", "token_endpoint_auth_method": "none"}
            self._json({**json.loads(body), **given}, 201)
        elif self.path == "/token":
            asked = {name: found[0] for name, found in parse_qs(body).items()}
            site.grants.append(asked["grant_type"])
            known = asked.get("code") == "c-1" or asked.get("refresh_token") == "r-1"
            site.tokens += 1
            answer = {"access_token": f"t-{site.tokens}", "token_type": "Bearer"}
            if site.scopes[-1]:
                answer["scope"] = site.scopes[-1]
            more = {"expires_in": 3600}
            if not (site.keeps_refresh_token and asked["grant_type"] == "refresh_token"):
                more["refresh_token"] = "r-1"
            self._json(
                {**answer, **more} if known else {"error": "invalid_grant"}, 200 if known else 400
            )
        elif self.headers.get("authorization") != f"Bearer t-{site.tokens}" or not site.tokens:
            self._json({}, 401)
        elif '"tools/call"' in body and not set(site.scope.split()) <= set(site.scopes[-1].split()):
            self._json({}, 403)
        else:
            self._rpc(json.loads(body))

    def _rpc(self, message: dict[str, Any]) -> None:
        method, id_ = message.get("method"), message.get("id")
        about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        results: dict[str, Any] = {
            "initialize": {**about, "serverInfo": {"name": "web", "version": "1"}},
            "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        if id_ is None:
            self._json({}, 202)
        elif method in results:
            self._json({"jsonrpc": "2.0", "id": id_, "result": results[method]})
        else:
            self._json({"jsonrpc": "2.0", "id": id_, "error": {"code": -32601, "message": "no"}})

    def _json(self, data: Any, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": len(body),
        }.items():
            self.send_header(name, str(value))
        if status == 401:
            self.send_header("www-authenticate", 'Bearer scope="read"')
        if status == 403:
            needed = f'Bearer error="insufficient_scope", scope="{self.server.scope}"'
            self.send_header("www-authenticate", needed)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


GRANTS = ["authorization_code", "refresh_token"]


@pytest.fixture
def site(mcp_home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The server, named `web` in the home's config; browsers are sent back to a port of this test,
    as others may log in at the same time."""
    monkeypatch.setattr("hookline_mcp.oauth.DEFAULT_PORT", free_port())
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    made.daemon_threads = True
    made.grants, made.tokens = [], 0
    made.keeps_refresh_token = False
    made.scopes, made.scope = [], ""
    made.base = f"http://127.0.0.1:{made.server_address[1]}"
    entry = {"url": f"{made.base}/mcp", "auth": "oauth", "approval": "never"}
    mcp_home.config["servers"]["web"] = entry
    mcp_home.core = {"network.allow_hosts": ["127.0.0.1"]}
    with serving(made):
        yield made


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def redirect_target(url: str) -> str:
    """Where a browser is led from a page, without going there."""
    try:
        urllib.request.build_opener(_Stay).open(url, timeout=30)
    except urllib.error.HTTPError as answer:
        return str(answer.headers["location"])
    raise AssertionError(url)


def expire_token(mcp_home: Any) -> None:
    """Let the stored token have expired, as if an hour had passed."""
    path = mcp_home.home / "mcp" / "tokens" / "web.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"expires": 1.0}), "utf-8")


def login(mcp_home: Any, *, paste: bool, say: Any) -> str:
    """The text shown at the end of a login."""
    agent = mcp_home.agent()
    plugin = agent.plugin(Mcp)
    server = plugin.servers.servers["web"]
    output: str = agent.run(log_in(server, plugin.host, paste=paste, say=say))
    agent.close()
    return output


def browse(text: str) -> None:
    """Open the page that a person is shown."""
    url = text.rpartition("\n")[2]
    if url.startswith("http"):
        threading.Thread(target=lambda: urllib.request.urlopen(url, timeout=30).read()).start()


@pytest.mark.long
def test_browser_login_is_kept_for_later_agents(mcp_home: Any, site: Any) -> None:
    assert login(mcp_home, paste=False, say=browse) == "Logged in: web lists 1 tool."
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "hello"
    assert site.grants == ["authorization_code"]


def test_pasted_redirect_address_logs_in(mcp_home: Any, site: Any, monkeypatch: Any) -> None:
    shown: list[str] = []

    class Pasted(io.StringIO):
        def readline(self, _size: int = -1, /) -> str:
            return redirect_target(shown[0].rpartition("\n")[2]) + "\n"

    monkeypatch.setattr("sys.stdin", Pasted())
    assert "Logged in" in login(mcp_home, paste=True, say=shown.append)


@pytest.mark.slow
def test_expired_token_is_renewed_by_another_process(mcp_home: Any, site: Any) -> None:
    login(mcp_home, paste=False, say=browse)
    expire_token(mcp_home)
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "hello"
    assert site.grants == ["authorization_code", "refresh_token"]


@pytest.mark.slow
def test_refresh_without_a_new_refresh_token_keeps_the_old_one(mcp_home: Any, site: Any) -> None:
    site.keeps_refresh_token = True
    login(mcp_home, paste=False, say=browse)
    for _ in range(2):
        expire_token(mcp_home)
        mcp_home.cli("mcp approve web --yes")
    stored = json.loads((mcp_home.home / "mcp" / "tokens" / "web.json").read_text("utf-8"))
    assert stored["tokens"]["refresh_token"] == "r-1"
    assert site.grants == ["authorization_code", "refresh_token", "refresh_token"]


def test_call_without_login_names_the_command(mcp_home: Any, site: Any) -> None:
    login(mcp_home, paste=False, say=browse)
    mcp_home.cli("mcp approve web --yes")
    site.tokens = 0
    (mcp_home.home / "mcp" / "tokens" / "web.json").unlink()
    assert "run hookline mcp login web" in mcp_home.call("mcp__web__say").text


class Visitor(Plugin):
    """Opens the page of a question and confirms it after a moment; keeps what was asked."""

    asked: tuple[str, ...] = ()
    seconds = 0.1

    @hookimpl
    def on_question(self, ctx: Context, question: Question) -> str:
        """Open the page."""
        self.asked += (question.text,)
        threading.Timer(self.seconds, browse, [question.preview]).start()
        return question.choices[0]


@pytest.mark.long
def test_call_that_requires_a_wider_scope_asks_for_another_login(mcp_home: Any, site: Any) -> None:
    login(mcp_home, paste=False, say=browse)
    mcp_home.cli("mcp approve web --yes")
    site.scope = "write"
    agent = mcp_home.agent(Visitor, model=[calls("mcp__web__say"), "done"])
    (result,) = agent.send("go").tool_calls
    assert result.text == "hello"
    assert site.scopes == ["read", "read write"]
    (question,) = agent.plugin(Visitor).asked
    assert "requires a login that also grants write" in question
    assert mcp_home.call("mcp__web__say").text == "hello"


@pytest.mark.slow
def test_login_may_take_longer_than_a_call(mcp_home: Any, site: Any) -> None:
    """The clock of the call stops; what remains of it is enough for a busy machine."""

    class Slow(Visitor):
        name = "visitor"
        seconds = 9.0

    login(mcp_home, paste=False, say=browse)
    mcp_home.cli("mcp approve web --yes")
    site.scope = "write"
    mcp_home.config["servers"]["web"]["timeout"] = 8
    agent = mcp_home.agent(Slow, model=[calls("mcp__web__say"), "done"])
    assert agent.send("go").tool_calls[0].text == "hello"


@pytest.mark.long
def test_login_after_a_call_without_a_person_requests_the_wider_scope(
    mcp_home: Any, site: Any
) -> None:
    login(mcp_home, paste=False, say=browse)
    mcp_home.cli("mcp approve web --yes")
    site.scope = "write"
    refused = mcp_home.call("mcp__web__say")
    assert "requires a login that also grants write: run hookline mcp login web" in refused.text
    login(mcp_home, paste=False, say=browse)
    assert site.scopes == ["read", "read write"]
    assert mcp_home.call("mcp__web__say").text == "hello"


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", "the address has no code; copy the browser"),
        (
            "http://127.0.0.1/callback?error=access_denied&error_description=You+said+no",
            "You said no",
        ),
        ("http://127.0.0.1/callback?state=x", "the address has no code"),
    ],
)
def test_redirect_without_code_names_the_reason(text: str, output: str) -> None:
    with pytest.raises(HooklineError, match=output):
        parse_redirect(text)


def test_forged_redirect_is_refused(mcp_home: Any, site: Any) -> None:
    def forged(text: str) -> None:
        url = text.rpartition("\n")[2]
        if url.startswith("http"):
            back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
            false = f"{back}?code=theirs&state=guessed"
            threading.Thread(
                target=lambda: urllib.request.urlopen(false, timeout=30).read()
            ).start()

    with pytest.raises(HooklineError, match=r"the address belongs to another login\. Run hookl"):
        login(mcp_home, paste=False, say=forged)
    assert site.grants == []


@pytest.mark.long
def test_failed_login_keeps_the_previous_one(mcp_home: Any, site: Any, monkeypatch: Any) -> None:
    login(mcp_home, paste=False, say=browse)
    mcp_home.cli("mcp approve web --yes")
    monkeypatch.setattr("sys.stdin", io.StringIO("what?\n"))
    with pytest.raises(HooklineError, match="the address has no code"):
        login(mcp_home, paste=True, say=lambda _: None)
    assert mcp_home.call("mcp__web__say").text == "hello"


def test_required_login_is_reported_once(mcp_home: Any, site: Any) -> None:
    output = mcp_home.cli("mcp test web", code=1)
    assert output.count("run hookline mcp login web") == 1
