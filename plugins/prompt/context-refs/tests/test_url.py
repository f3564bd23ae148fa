"""@url in a turn, from a server on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hookline_hookspecs import Origin
from support.serving import serving

ANSWERS = {
    "/plain": (200, "text/plain; charset=utf-8", "größe\r\nok".encode()),
    "/latin": (200, "text/plain; charset=iso-8859-1", "größe".encode("latin-1")),
    "/odd": (200, "text/plain; charset=base64", b"words"),
    "/untyped": (200, "", b"words"),
    "/json": (200, "application/json", b'{"a": 1}'),
    "/html": (
        200,
        "text/html",
        b"<html><body><h1>Title</h1><script>evil()</script><p>Some <b>bold</b> text</p></body>",
    ),
    "/deep": (200, "text/html", b"<div>" * 5000 + b"bottom"),
    "/unclosed": (200, "text/html", b"<p>begun</p>" + b"<a " * 20_000),
    "/image": (200, "image/png", b"\x89PNG\0"),
    "/lying": (200, "text/plain", b"a\0b"),
    "/broken": (200, "text/plain", b"gr\xf6\xdfe"),
    "/big": (200, "text/plain", b"x" * 70_000),
    "/gone": (404, "text/plain", b"no"),
    "/fault": (500, "text/plain", b"no"),
    "/empty": (200, "text/plain", b""),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/slow":
            self.server.released.wait(30)
        status, kind, body = ANSWERS.get(self.path.partition("?")[0], (200, "text/plain", b"ok"))
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.released = [], threading.Event()
    made.url = f"http://127.0.0.1:{made.server_address[1]}"
    with serving(made, made.released):
        yield made


@pytest.fixture
def online(make_chat):
    return make_chat(core={"network.allow_hosts": ["127.0.0.1"]})


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/plain", "größe\nok"),
        ("/latin", "größe"),
        ("/odd", "words"),
        ("/untyped", "words"),
        ("/json", '{"a": 1}'),
        ("/unclosed", "begun"),  # takes minutes with the standard library's parser
        ("/html", "# Title\n\nSome **bold** text"),
        ("/empty", "(empty page)"),
    ],
)
def test_page_is_attached(online, server, path, expected):
    turn = online(f"read (@url:{server.url}{path}), please")
    assert turn.items == {f"@url:{server.url}{path}": expected}
    assert turn.warnings == []


def test_page_gives_its_origin_to_the_turn(online, server):
    online(f"@url:{server.url}/plain")
    message = online.harness.model.last.messages[-1]
    assert Origin("outside", f"{server.url}/plain") in message.origins


def test_deeply_nested_page_is_attached(online, server):
    turn = online(f"@url:{server.url}/deep")
    assert "<div>" in turn.items[f"@url:{server.url}/deep"]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/gone", "answered 404"),
        ("/fault", "answered 500"),
        ("/image", "image/png"),
        ("/lying", "NUL"),
        ("/broken", "binary"),
    ],
)
def test_url_without_a_readable_page_is_reported(online, server, path, word):
    turn = online(f"@url:{server.url}{path}")
    assert turn.items == {}
    assert word in turn.warnings[0]
    assert turn.notices


def test_private_address_is_refused(chat, server):
    turn = chat(f"@url:{server.url}/plain @url:http://169.254.169.254/latest @url:http://[")
    assert turn.items == {}
    assert len(turn.warnings) == 3
    assert server.asked == []


def test_unreachable_server_is_reported(online, server):
    server.released.set()
    turn = online("@url:http://127.0.0.1:1/")
    assert "not attached" in turn.warnings[0]


def test_first_64_kb_of_a_page_are_shown(online, server):
    text = online(f"@url:{server.url}/big").items[f"@url:{server.url}/big"]
    assert text.count("x") == 65_536
    assert "4464 characters left out" in text


def test_page_is_fetched_once_per_message(online, server):
    url = f"{server.url}/plain"
    turn = online(f"@url:{url} @url:{url}. (@url:{url})")
    assert len(turn.items) == 1
    assert server.asked == ["/plain"]


def test_slow_page_does_not_delay_the_others(make_chat, server):
    chat = make_chat(core={"network.allow_hosts": ["127.0.0.1"]}, config={"total_seconds": 0.5})
    chat.put("a.txt", "A")
    turn = chat(f"@url:{server.url}/slow @file:a.txt")
    assert turn.items == {"@file:a.txt": "A"}
    assert "longer than 0.5 s" in turn.warnings[0]
