"""A visitor who uses the page over HTTP like a browser, signed in by a link."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

READY_TIMEOUT = 60.0
"""Seconds that a conversation may take."""
_PAUSE = 0.1


class NoAnswer(Exception):
    """The page refused a request or did not answer in time; the text says which."""


@dataclass
class Visitor:
    """A browser at ``url`` (scheme, host and port)."""

    url: str
    cookie: str = field(default="", repr=False)

    @classmethod
    def by(cls, link: str) -> Visitor:
        """Sign in with a link, ``…/login#CODE``. Raises :class:`NoAnswer`."""
        address, _, code = link.partition("/login#")
        visitor = cls(address)
        visitor.ask("POST", "/login", {"code": code})
        return visitor

    def say(self, text: str, session: str = "") -> str:
        """Send a message to a session, or to a new one; return its id."""
        session = session or str(uuid4())
        message = {"message_id": str(uuid4()), "text": text}
        self.ask("POST", f"/api/sessions/{session}/messages", message)
        return session

    def answered(self, session: str, turns: int = 1) -> None:
        """Wait until a session has had ``turns`` turns and is idle. Raises :class:`NoAnswer`."""
        self._until(session, lambda row: row["turns"] >= turns and row["state"] == "idle")

    def asked(self, session: str) -> None:
        """Wait until a question is open in a session. Raises :class:`NoAnswer`."""
        self._until(session, lambda row: bool(row["question"]))

    def log_out(self) -> None:
        """Sign out, so that this browser is not listed."""
        self.ask("POST", "/logout")

    def _until(self, session: str, condition: Callable[[dict[str, Any]], bool]) -> None:
        end = monotonic() + READY_TIMEOUT
        while monotonic() < end:
            rows = self.ask("GET", "/api/sessions")["sessions"]
            if any(row["id"] == session and condition(row) for row in rows):
                return
            sleep(_PAUSE)
        raise NoAnswer(f"a conversation did not end within {READY_TIMEOUT:.0f} s")

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request; return the JSON of the response. Raises :class:`NoAnswer`."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=READY_TIMEOUT)
        headers = {"Origin": self.url, "Content-Type": "application/json", "Cookie": self.cookie}
        sent = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            text = response.read()
        except OSError as error:
            raise NoAnswer(f"{method} {path}: {error}") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise NoAnswer(f"{method} {path}: {response.status} {text.decode(errors='replace')}")
        self.cookie = (response.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        return json.loads(text) if text.startswith(b"{") else None
