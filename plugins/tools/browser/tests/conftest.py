"""Sites on loopback, one that may be reached and one that may not, and a model that uses them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_browser import Browser
from hookline_hookspecs import ToolResult
from support.serving import serving

Answer = tuple[int, dict[str, str], bytes]


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200) -> Answer:
    """An answer with a body."""
    return status, {"Content-Type": kind}, body.encode() if isinstance(body, str) else body


class Handler(BaseHTTPRequestHandler):
    """Answers by ``server.answers``: an answer, or a function of the handler, for each path."""

    server: Site

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode("utf-8", "replace")
        self.server.asked.append((self.command, self.path, body))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        found = self.server.answers.get(self.path.partition("?")[0], page("no", status=404))
        try:
            answer = found(self) if callable(found) else found
            if answer is not None:
                self.reply(answer)
        except OSError:
            self.close_connection = True  # who asked has gone

    do_POST = do_HEAD = do_GET

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
    """A server on loopback. ``asked`` holds the requests; ``released`` ends waiting answers."""

    daemon_threads = True
    page = staticmethod(page)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer | Callable[[Any], Answer | None]] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def paths(self, method: str) -> list[str]:
        """The paths that were requested with this method."""
        return [path for one, path, _ in self.asked if one == method]

    def handle_error(self, *_: Any) -> None:
        pass


class Private:
    """A server that nobody may reach: it notes every TCP connection and UDP packet, with how it
    begins."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self.port = self._udp.getsockname()[1]
        self._tcp = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self._six = socket.create_server(
            ("::1", self.port), family=socket.AF_INET6, dualstack_ipv6=False
        )
        self._open = True
        self._threads = [
            threading.Thread(target=self._accept, args=(one,), daemon=True)
            for one in (self._tcp, self._six)
        ]
        self._threads.append(threading.Thread(target=self._receive, daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._open = False
        for thread in self._threads:
            thread.join()
        for one in (self._tcp, self._six, self._udp):
            one.close()

    def _accept(self, server: socket.socket) -> None:
        server.settimeout(0.05)
        while self._open:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(0.5)
                try:
                    data = connection.recv(2_000)
                except OSError:
                    data = b""
                self.reached.append(data.decode("latin-1").partition("\r\n")[0] or "(connected)")
                try:
                    if data.startswith((b"GET", b"POST", b"HEAD")):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    pass

    def _receive(self) -> None:
        self._udp.settimeout(0.05)
        while self._open:
            try:
                data, _ = self._udp.recvfrom(2_000)
                self.reached.append(f"UDP {data[:8].hex()}")
            except TimeoutError:
                continue


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
    """A site."""
    return make_site()


@pytest.fixture
def private() -> Iterator[Private]:
    """A server that may not be reached."""
    made = Private()
    yield made
    made.close()


class BrowserChat:
    """A person whose model makes one call a turn; only the given sites may be reached."""

    def __init__(self, make: Callable[..., Harness], *given: Any, **options: Any) -> None:
        sites = [one for one in given if isinstance(one, Site)]
        plugins = [one for one in given if not isinstance(one, Site)]
        config = {"browser": options.pop("config", {}), **options.pop("others", {})}
        core = {"network.allow_hosts": [f"127.0.0.1:{one.port}" for one in sites]}
        core |= options.pop("core", {})
        self.harness = make(*plugins, Browser, config=config, core=core, **options)

    def call(
        self, name: str, approve: str = "ask", session: str = "test", **given: Any
    ) -> ToolResult:
        """The result of one call."""
        self.harness.model.steps[:] = [[calls(name, **given)], "done"]
        return self.harness.send("go", approve=approve, session=session).tool_calls[0]

    def do(self, action: str, **given: Any) -> str:
        """The result of an action as the model reads it.

        On a machine that is busy a page may not be described in the seconds that a guard has.
        Then nobody is asked, nothing is done, and the model is told to call again.
        """
        for _ in range(20):
            text = self.call("browser", action=action, **given).text
            if "no one was asked" not in text:
                break
        return text

    def read(self, **given: Any) -> str:
        """The text of the page as the model reads it."""
        return self.call("browser_read", **given).text

    def open(self, url: str, **given: Any) -> str:
        """The report of an opened page as the model reads it."""
        return self.do("open", url=url, **given)

    def answer(self, *answers: str) -> None:
        """Set the person's next answer."""
        self.harness.answers.extend(answers)

    @property
    def questions(self) -> list[str]:
        """The previews that the person was shown."""
        return [f"{one.text}\n{one.preview}" for one in self.harness.questions]


@pytest.fixture
def make_chat(harness: Callable[..., Harness]) -> Callable[..., BrowserChat]:
    """Makes chats: sites that may be reached, other plugins, and options of the harness."""
    return lambda *given, **options: BrowserChat(harness, *given, **options)


def ref_of(report: str, words: str) -> str:
    """The ref of the line that holds ``words``."""
    (line,) = [one for one in report.splitlines() if words in one and " kept here " not in one]
    return next(word for word in line.split() if word.lstrip("f0123456789").startswith("e"))
