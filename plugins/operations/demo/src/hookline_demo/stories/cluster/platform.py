"""The chat platform of the story: sends signed messages to the webhook and receives replies."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEADER = "X-Hookline-Signature"
PERSON = "you"


class Platform:
    """One private chat. ``replies`` are the received bodies, each id once."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self.replies: list[dict[str, Any]] = []
        self.duplicates = 0
        """Replies that were received again with the same id; a platform would not show them."""
        self.url = ""
        self._received = threading.Condition()

    def send(self, port: int, text: str) -> str:
        """Post a message to the gateway at ``port``; return its id. Raises ``OSError`` if it is
        refused."""
        id_ = secrets.token_hex(8)
        message = {"id": id_, "chat": PERSON, "user": PERSON, "text": text}
        body = json.dumps(message).encode()
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", "/webhook", body, {HEADER: self._signature(body)})
            status = connection.getresponse().status
        except HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        if status != 202:
            raise OSError(f"the gateway answered {status}")
        return id_

    def reply_to(self, id_: str, seconds: float) -> str | None:
        """Wait for the reply to a message; None if it does not come in time."""
        deadline = time.monotonic() + seconds
        with self._received:
            while True:
                for reply in self.replies:
                    if reply["in_reply_to"] == id_:
                        return str(reply["text"])
                if not self._received.wait(max(0.0, deadline - time.monotonic())):
                    return None

    def receive(self, body: bytes, signature: str) -> int:
        """Receive a reply; return the HTTP status."""
        if not hmac.compare_digest(signature, self._signature(body)):
            return 401
        reply = json.loads(body)
        with self._received:
            if any(reply["id"] == other["id"] for other in self.replies):
                self.duplicates += 1
            else:
                self.replies.append(reply)
            self._received.notify_all()
        return 200

    def _signature(self, body: bytes) -> str:
        return f"sha256={hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()}"


@contextmanager
def serving() -> Iterator[Platform]:
    """Run a platform that receives replies until the end of the block."""
    platform = Platform()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(platform.receive(body, self.headers.get(HEADER, "")))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Do not log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore the broken connection of a killed process."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    with Server(("127.0.0.1", 0), Handler) as server:
        platform.url = f"http://127.0.0.1:{server.server_port}/replies"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield platform
        finally:
            server.shutdown()
            thread.join()
