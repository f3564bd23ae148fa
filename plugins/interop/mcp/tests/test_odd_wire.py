"""Servers whose messages are right, but are written on the wire in another way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.matrices import sampled
from support.serving import serving

Written = tuple[int, str | None, bytes]
"""Status, content type and body of an answer."""


def as_json(message: Any, kind: str | None = "application/json") -> Written:
    return 200, kind, json.dumps(message).encode()


def as_events(message: Any, end: str = "\n", before: str = "", field: str = "data: ") -> Written:
    text = f"{before}{field}{json.dumps(message)}{end}{end}"
    return 200, "text/event-stream", text.encode()


def changed(**fields: Any) -> Callable[[Any], Written]:
    return lambda message: as_json({**message, **fields})


def without(name: str) -> Callable[[Any], Written]:
    return lambda message: as_json({k: v for k, v in message.items() if k != name})


def pretty(message: Any) -> Written:
    lines = json.dumps(message, indent=1).splitlines()
    return 200, "text/event-stream", ("".join(f"data: {one}\n" for one in lines) + "\n").encode()


WIRES: dict[str, Callable[[Any], Written]] = {
    "lines end in CR": lambda message: as_events(message, "\r", ": hello\revent: message\r"),
    "half a surrogate in lines that end in CR": lambda message: as_events(
        {**message, "more": "\ud83d"}, "\r"
    ),
    "lines end in CR LF": lambda message: as_events(message, "\r\n", field="data:"),
    "mixed line ends": lambda message: as_events(message, "\r", "event: message\n"),
    "events begin with a BOM": lambda message: as_events(message, before="\ufeff"),
    "other events": lambda message: as_events(
        message, before="event: ping\ndata: {}\n\nid: 7\nretry: 10\n\n:\n\n"
    ),
    "other event with data": lambda message: as_events(
        message, before="event: heartbeat\ndata: alive\n\n"
    ),
    "data over several lines": pretty,
    "no blank line at the end": lambda message: (
        (*as_events(message)[:2], as_events(message)[2][:-1])
    ),
    "JSON with a BOM": lambda message: (
        200,
        "application/json",
        b"\xef\xbb\xbf" + as_json(message)[2],
    ),
    "JSON in UTF-16": lambda message: (
        200,
        "application/json; charset=utf-16",
        json.dumps(message).encode("utf-16"),
    ),
    "JSON with blanks": lambda message: (
        200,
        "application/json",
        b"\n\n" + as_json(message)[2] + b"\n",
    ),
    "upper case type": lambda message: as_json(message, "Application/JSON;charset=UTF-8"),
    "JSON as text": lambda message: as_json(message, "text/plain; charset=utf-8"),
    "JSON as html": lambda message: as_json(message, "text/html"),
    "own JSON type": lambda message: as_json(message, "application/json-rpc"),
    "no type": lambda message: as_json(message, None),
    "list of one": lambda message: as_json([message]),
    "id as text": lambda message: as_json({**message, "id": str(message["id"])}),
    "error null": changed(error=None),
    "without jsonrpc": without("jsonrpc"),
    "jsonrpc number": changed(jsonrpc=2.0),
    "jsonrpc 1": changed(jsonrpc="1.0"),
    "more fields": changed(method=None, params=None, _meta={"a": 1}, timestamp=5),
    "status 201": lambda message: (201, *as_json(message)[1:]),
}


class Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, id_ = message.get("method"), message.get("id")
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }
        results = {
            "initialize": about,
            "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        if id_ is None:
            self._reply(*self.server.noted)
        elif method in results:
            self._reply(*self.server.wire({"jsonrpc": "2.0", "id": id_, "result": results[method]}))
        else:
            error = {"code": -32601, "message": "Method not found"}
            self._reply(*as_json({"jsonrpc": "2.0", "id": id_, "error": error}))

    def do_GET(self) -> None:
        self._reply(*self.server.get)

    def do_DELETE(self) -> None:
        self._reply(500, "text/html", b"<h1>no</h1>")

    def _reply(self, status: int, kind: str | None, body: bytes) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site(mcp_home: Any) -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.wire, made.noted, made.get = as_json, (202, None, b""), (405, None, b"")
    url = f"http://127.0.0.1:{made.server_address[1]}/mcp"
    mcp_home.config["servers"]["web"] = {
        "url": url,
        "approval": "never",
        "timeout": 5,
        "connect_timeout": 8,
    }
    mcp_home.core = {"network.allow_hosts": ["127.0.0.1"]}
    with serving(made):
        yield made


@sampled("name", WIRES, rest="long")
def test_message_in_another_writing_is_read(mcp_home: Any, site: Any, name: str) -> None:
    site.wire = WIRES[name]
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "hello"


@sampled(
    "noted",
    [
        (200, None, b""),
        (200, "application/json", b""),
        (200, "application/json", b"null"),
        (200, "application/json", b"{}"),
        (200, "text/plain", b"Accepted"),
        (204, None, b""),
        (200, "text/event-stream", b""),
        (200, "application/json", b'{"jsonrpc": "2.0", "id": null, "result": {}}'),
        (202, "text/html", b"<p>ok</p>"),
        (400, "application/json", b'{"error": "no id"}'),
        (404, "text/html", b"no"),
    ],
    4,
    rest="long",
)
def test_any_answer_to_a_notification_is_taken(mcp_home: Any, site: Any, noted: Written) -> None:
    site.noted = noted
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "hello"


@pytest.mark.parametrize(
    "get",
    [
        (404, "text/html", b"no"),
        (500, None, b""),
        (200, "text/html", b"<h1>Hi</h1>"),
        (200, "application/json", b"{}"),
        (401, None, b""),
        (200, "text/event-stream", b""),
    ],
)
def test_any_answer_to_a_get_is_taken(mcp_home: Any, site: Any, get: Written) -> None:
    site.get = get
    mcp_home.cli("mcp approve web --yes")
    assert mcp_home.call("mcp__web__say").text == "hello"


@pytest.mark.parametrize(
    "envelope",
    [
        ["\ufeff", {}],
        ["", {"jsonrpc": None}],
        ["", {"jsonrpc": 1.0, "error": None}],
        ["  ", {"x": 1}],
    ],
)
def test_program_that_writes_messages_in_another_way_is_read(mcp_home: Any, envelope: Any) -> None:
    mcp_home.serve("small", mcp_home.tool("say", "hello"), envelope=envelope)
    assert mcp_home.call("mcp__small__say").text == "hello"


PLAIN = [
    ("text/plain", b"gone away"),
    ("application/json", b'{"error": "gone away"}'),
    ("application/json", b'{"detail": {"error": {"message": "gone away"}}}'),
]


@sampled("status", [400, 429, 503], 1, rest="long")
@pytest.mark.parametrize(("kind", "body"), PLAIN)
def test_error_that_is_no_message_is_told_with_its_words(
    mcp_home: Any, site: Any, kind: str, body: bytes, status: int
) -> None:
    mcp_home.cli("mcp approve web --yes")
    site.wire = lambda message: (
        (status, kind, body) if "content" in message["result"] else as_json(message)
    )
    result = mcp_home.call("mcp__web__say")
    assert f"gone away (status {status})" in result.text
    assert not result.ok


ERRORS = {
    "text code": ({"code": "ENOENT", "message": "gone away"}, "gone away"),
    "only text": ("gone away", "gone away"),
    "no message": ({"code": -32000, "data": "gone away"}, "gone away"),
    "no code": ({"message": "gone away"}, "gone away"),
    "float code": ({"code": -32000.0, "message": "gone away"}, "gone away"),
    "message object": ({"code": -32000, "message": {"text": "gone away"}}, "gone away"),
}


@sampled("status", [200, 400, 500], 1, rest="long")
@sampled("name", ERRORS, 3, rest="long")
def test_error_in_any_form_is_told(mcp_home: Any, site: Any, name: str, status: int) -> None:
    mcp_home.cli("mcp approve web --yes")
    error, says = ERRORS[name]

    def wire(message: Any) -> Written:
        if "content" not in message["result"]:
            return as_json(message)
        told = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return status, "application/json", json.dumps(told).encode()

    site.wire = wire
    result = mcp_home.call("mcp__web__say")
    assert says in result.text
    assert not result.ok
