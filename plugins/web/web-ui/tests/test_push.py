"""Web Push: notifications, sent to a push service on this machine and decrypted as by a browser."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .browser import PATIENCE, Gateway, new

http_ece = pytest.importorskip("http_ece", reason="needs pywebpush")


COMMAND = "sudo -n true # secret-argument"
SCRIPT = [
    {
        "when": "remove it",
        "tools": [{"name": "bash", "arguments": {"command": COMMAND}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]


def in_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Browser:
    """The keys of a subscription, and the messages that its push service has got."""

    url: str
    status: int = 201
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def subscription(self) -> dict[str, Any]:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {
            "endpoint": self.url,
            "expirationTime": None,
            "keys": {"p256dh": in_base64(point), "auth": in_base64(self.auth)},
        }

    def messages(self) -> list[Any]:
        return [
            json.loads(http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth))
            for _, body in self.got
        ]

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.got) < count:
                await asyncio.sleep(0.02)


@dataclass
class PushService:
    """A push service on loopback."""

    port: int = 0
    browsers: dict[str, Browser] = field(default_factory=dict)

    def browser(self, name: str) -> Browser:
        made = Browser(f"http://127.0.0.1:{self.port}/{name}")
        self.browsers[f"/{name}"] = made
        return made


@pytest.fixture
def service() -> Iterator[PushService]:
    made = PushService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            browser = made.browsers[self.path]
            browser.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(browser.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def configure(gateway: Gateway, *allowed: str) -> None:
    gateway.configure(SCRIPT)
    path = gateway.home / "config.yaml"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "network": {"allow_hosts": list(allowed)}}))


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE))


@pytest.mark.long
def test_question_is_pushed_to_those_who_may_answer_without_its_command(
    own_gateway: Gateway, service: PushService
) -> None:
    configure(own_gateway, f"127.0.0.1:{service.port}")
    own_gateway.start()

    async def story() -> None:
        owner, mia = await own_gateway.person("owner"), await own_gateway.person("mia")
        browser, gone, other = (service.browser(name) for name in ("a", "gone", "mia"))
        gone.status = 410
        state = await owner.get("/push")
        assert state["problem"] == ""
        for who, one in ((owner, browser), (owner, gone), (mia, other)):
            await who.ask("POST", "/push", 201, json=one.subscription())
        session = new()
        await owner.say(session, "remove it")
        await browser.wait(1)
        await gone.wait(1)
        (message,) = browser.messages()
        assert message["body"] == "A question is waiting in “remove it”"  # the chat's first words
        assert message["path"] == f"/chat/{session}"
        assert COMMAND not in json.dumps(message)
        headers, body = browser.got[0]
        assert b"question" not in body
        assert headers["content-encoding"] == "aes128gcm"
        scheme, _, values = headers["authorization"].partition(" ")
        assert scheme == "vapid"
        parts = dict(part.strip().split("=", 1) for part in values.split(","))
        assert parts["k"] == state["key"]
        claims = json.loads(from_base64(parts["t"].split(".")[1]))
        assert claims["aud"] == f"http://127.0.0.1:{service.port}"
        assert stat.S_IMODE((own_gateway.home / "web-push.pem").stat().st_mode) == 0o600

        path = f"/sessions/{session}/answer"
        asked = await owner.get(f"/sessions/{session}")
        first = asked["questions"][0]["id"]
        await owner.ask("POST", path, 202, json={"question": first, "choice": "Deny"})
        await owner.settled(session)
        await browser.wait(2)
        closing = browser.messages()[1]
        assert closing["body"] == "Answered by owner (web page)"
        assert (closing["tag"], closing["closes"]) == (message["tag"], "yes")
        assert [one["topic"] for one, _ in browser.got] == [headers["topic"]] * 2
        await owner.say(session, "remove it")
        await browser.wait(3)
        await owner.ask("DELETE", "/push", json={"endpoint": browser.url})
        second = await owner.get(f"/sessions/{session}")
        answer = {"question": second["questions"][0]["id"], "choice": "Deny"}
        await owner.ask("POST", path, 202, json=answer)
        await owner.settled(session, 2)
        await owner.say(session, "remove it")
        await owner.until(session, lambda one: one["session"]["state"] == "asking")
        assert (len(browser.got), len(gone.got), len(other.got)) == (3, 1, 0)
        for one in (owner, mia):
            await one.close()

    run(story())


@pytest.mark.slow
def test_push_address_must_be_public_and_complete(own_gateway: Gateway) -> None:
    configure(own_gateway)
    own_gateway.start()

    async def story() -> None:
        owner = await own_gateway.person("owner")
        subscription = Browser("").subscription()
        for change in (
            {"endpoint": "http://127.0.0.1:1/x"},
            {"endpoint": "https://169.254.169.254/x"},
            {"endpoint": "http://push.example/x"},
            {"endpoint": 5},
            {"endpoint": "https://push.example/x", "keys": {}},
        ):
            refused = await owner.ask("POST", "/push", 400, json={**subscription, **change})
            assert refused["error"]["code"] == "bad_request"
        await owner.close()

    run(story())
