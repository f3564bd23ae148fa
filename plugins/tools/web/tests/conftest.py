"""Sites on loopback, services that search, and a person whose model asks for them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import ToolResult
from hookline_web import Web
from support.serving import serving

Answer = tuple[int, dict[str, str], bytes]
KEY = "sk-right-key-1234"


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200) -> Answer:
    """An answer with a body."""
    return status, {"Content-Type": kind}, body.encode() if isinstance(body, str) else body


def redirect(url: str, status: int = 302) -> Answer:
    """An answer that leads elsewhere."""
    return status, {"Location": url}, b""


class Handler(BaseHTTPRequestHandler):
    """Answers by ``server.answers``: an answer, or a function of the handler, for each path."""

    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        length = int(self.headers.get("content-length") or 0)
        self.sent = self.rfile.read(length)
        found = self.server.answers.get(self.path.partition("?")[0])
        if found is None:
            found = page("no", "text/plain", 404)
        try:
            answer = found(self) if callable(found) else found
            if answer is not None:
                self.reply(answer)
        except OSError:
            self.close_connection = True  # who asked has gone

    do_POST = do_GET

    def reply(self, answer: Answer) -> None:
        status, headers, body = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Site(ThreadingHTTPServer):
    """A server on loopback. ``released`` ends what waits."""

    daemon_threads = True
    page = staticmethod(page)
    redirect = staticmethod(redirect)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer | Callable[[Any], Answer | None]] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        pass  # a client that goes away in the middle is what some tests are about


@pytest.fixture
def make_site() -> Iterator[Callable[[], Site]]:
    """Makes servers that end with the test."""
    with ExitStack() as stack:

        def make() -> Site:
            site = Site()
            return stack.enter_context(serving(site, site.released))

        yield make


@pytest.fixture
def site(make_site: Callable[[], Site]) -> Site:
    """A site without a robots.txt."""
    return make_site()


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No service in the environment, no proxy, and the optional package not installed."""
    for name in ("SEARXNG_BASE_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setitem(sys.modules, "trafilatura", None)


class WebTools:
    """A person whose model makes one call a turn."""

    def __init__(
        self, make: Callable[..., Harness], *plugins: Any, core: Any = None, **config: Any
    ):
        core = {"network.allow_hosts": ["127.0.0.1"]} if core is None else core
        self.harness = make(Web, *plugins, config={"web": config}, core=core)

    def call(self, name: str, **arguments: Any) -> ToolResult:
        """The result of one call."""
        return self.calls((name, arguments))[0]

    def calls(self, *asked: tuple[str, dict[str, Any]]) -> list[ToolResult]:
        """The results of calls that stand in one response."""
        self.harness.model.steps[:] = [[calls(name, **given) for name, given in asked], "done"]
        return list(self.harness.send("go").tool_calls)

    def fetch(self, url: str, **arguments: Any) -> str:
        """A page as the model reads it."""
        return self.call("web_fetch", url=url, **arguments).text


@pytest.fixture
def make_web_tools(harness: Callable[..., Harness]) -> Callable[..., WebTools]:
    """Makes web tools; keywords are settings of the plugin, ``core`` those of core."""
    return lambda *plugins, **options: WebTools(harness, *plugins, **options)


@pytest.fixture
def web_tools(make_web_tools: Callable[..., WebTools]) -> WebTools:
    """The web tools with default settings; they may reach loopback."""
    return make_web_tools()


# Services, each refusing what the real one refuses

ROWS = [
    (f"Title <b>{n}</b> &amp; more", f"https://example.org/{n}", f"Text {n}") for n in range(1, 31)
]


def rows(snippet: str) -> list[dict[str, str]]:
    """The results with their text under the service's own name."""
    return [{"title": title, "url": url, snippet: text} for title, url, text in ROWS]


def parameters(handler: Any) -> dict[str, str]:
    """The query of a request."""
    from urllib.parse import parse_qsl, urlsplit

    return dict(parse_qsl(urlsplit(handler.path).query, keep_blank_values=True))


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    """An answer in JSON."""
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def searxng(handler: Any) -> Answer:
    """SearXNG with its JSON format on; without ``format=json`` it shows a page."""
    given = parameters(handler)
    if not given.get("q"):
        return as_json({"error": "No query"}, 400)
    if given.get("format") != "json":
        return page("<html>results</html>")
    found = [] if given["q"] == "nothing" else rows("content")
    return as_json({"query": given["q"], "results": found, "answers": [], "suggestions": []})


def brave(handler: Any) -> Answer:
    """Brave: the key in a header of its own, 422 without, at most 20 results a page."""
    given = parameters(handler)
    if handler.headers.get("X-Subscription-Token") != KEY:
        error = {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}
        return as_json({"type": "ErrorResponse", "error": error}, 422)
    count = int(given.get("count", 20))
    if not 1 <= count <= 20 or not 0 < len(given.get("q", "")) <= 400:
        return as_json({"type": "ErrorResponse", "error": {"code": "VALIDATION"}}, 422)
    if given["q"] == "nothing":
        return as_json({"type": "search", "query": {"original": "nothing"}})
    return as_json({"type": "search", "web": {"results": rows("description")[:count]}})


def tavily(handler: Any) -> Answer:
    """Tavily: POST, a bearer token, 401 without, at most 20 results."""
    if handler.command != "POST":
        return as_json({"detail": "Method Not Allowed"}, 405)
    if handler.headers.get("Authorization") != f"Bearer {KEY}":
        return as_json({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
    try:
        given = json.loads(handler.sent)
        count, query = given.get("max_results", 5), given["query"]
    except (ValueError, KeyError):
        return as_json({"detail": [{"msg": "Field required"}]}, 422)
    if not 0 <= count <= 20 or not 0 < len(query) <= 400:
        return as_json({"detail": {"error": "Bad request"}}, 400)
    found = [] if query == "nothing" else rows("content")[:count]
    return as_json({"query": query, "results": found, "response_time": 0.1})


SERVICES = {
    "searxng": ("/search", searxng),
    "brave": ("/web/search", brave),
    "tavily": ("/search", tavily),
}
"""The path of each service, and how it answers."""


class Service:
    """A service on `site`, and the settings with which the plugin finds it."""

    key = KEY

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.title = {"searxng": "SearXNG", "brave": "Brave", "tavily": "Tavily"}[name]
        self.site = site
        self.path, answer = SERVICES[name]
        site.answers[self.path] = answer
        self.config = {"search": name, f"{name}_base_url": site.url}
        if name != "searxng":
            self.config[f"{name}_api_key"] = KEY

    def answers(self, answer: Any) -> None:
        """From now on it answers this."""
        self.site.answers[self.path] = answer


@pytest.fixture(params=sorted(SERVICES))
def service(request: pytest.FixtureRequest, site: Site) -> Service:
    """Each service in turn."""
    return Service(request.param, site)


@pytest.fixture
def make_service(make_site: Callable[[], Site]) -> Callable[[str], Service]:
    """Makes services by name."""
    return lambda name: Service(name, make_site())
