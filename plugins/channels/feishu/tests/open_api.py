"""The HTTP side of the fake: tokens, scopes, faults, and what path leads where."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from .contents import ApiError
from .service import Service


@dataclass(slots=True)
class Fault:
    """A fault of the requests whose ``METHOD path`` matches ``where``.

    ``429`` and ``400`` are rate limits, ``group`` is 230020; ``500``, ``502`` and ``html`` answer
    so; ``drop`` does what was asked and hangs up; ``refuse`` hangs up and does nothing; ``silent``
    does it and never answers.
    """

    kind: str
    where: str = ""
    times: int | None = 1
    seconds: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A request and the code of its answer; -1 without one."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    code: int
    at: float


class OpenApi(Service):
    """The server."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.token_seconds = 7200.0
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self._tokens: dict[str, float] = {}
        self.lock = threading.RLock()
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.pushes.close()

    def expire(self) -> None:
        """All tokens end now."""
        self._tokens.clear()

    # Requests

    def answer(self, method: str, path: str, query: dict[str, str], headers: Any, raw: bytes
               ) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
        """Status, headers and body. Raises ``ConnectionError`` to hang up."""
        with self.lock:
            fault = self._fault(f"{method} {path}")
            if fault is not None and fault.kind == "refuse":
                self._note(method, path, query, None, -1)
                raise ConnectionError
            body: Any = None
            try:
                if fault is not None:
                    self._fail(fault)
                body = _read(headers, raw)
                made = self._route(method, path, query, headers, body, len(raw))
            except ApiError as refused:
                self._note(method, path, query, body, refused.code)
                return refused.status, refused.headers, json.dumps(refused.body).encode()
            self._note(method, path, query, body, 0)
            if fault is not None and fault.kind in ("drop", "silent"):
                raise TimeoutError if fault.kind == "silent" else ConnectionError
            if fault is not None and fault.kind == "html":
                return 200, {"Content-Type": "text/html"}, b"<html>maintenance</html>"
            if isinstance(made, bytes):
                return 200, {"Content-Type": "application/octet-stream"}, made
            return 200, {}, json.dumps({"code": 0, "msg": "success", **made}).encode()

    def _note(self, method: str, path: str, query: dict[str, str], body: Any, code: int) -> None:
        self.calls.append(Call(method, path, query, body, code, self.clock.now()))

    def _fault(self, what: str) -> Fault | None:
        for fault in self.faults:
            if re.search(fault.where, what):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.faults.remove(fault)
                return fault
        return None

    def _fail(self, fault: Fault) -> None:
        reset = {"x-ogw-ratelimit-limit": "100", "x-ogw-ratelimit-reset": str(fault.seconds)}
        match fault.kind:
            case "429" | "400":
                raise ApiError(99991400, "request trigger frequency limit", int(fault.kind),
                              headers=reset)  # fmt: skip
            case "group":
                raise ApiError(230020, "This operation triggers the frequency limit.", 400)
            case "500" | "502":
                raise ApiError(1500, "internal error", int(fault.kind))

    def _route(self, method: str, path: str, query: dict[str, str], headers: Any, body: Any,
               size: int) -> Any:  # fmt: skip
        if (method, path) == ("POST", "/callback/ws/endpoint"):
            return self._endpoint(body)
        if (method, path) == ("POST", "/open-apis/auth/v3/tenant_access_token/internal"):
            return self._token(body)
        self._authorized(headers)
        for verb, pattern, work, scopes in _ROUTES:
            found = re.fullmatch(pattern, path)
            if verb == method and found is not None:
                self.needs(scopes)
                return work(self, *found.groups(), query=query, body=body, size=size)
        raise ApiError(99991000, f"no such endpoint: {method} {path}", 404)

    def _endpoint(self, body: Any) -> Any:
        if (body.get("AppID"), body.get("AppSecret")) != (self.app, self.secret):
            return {"code": 1000040343 + 2, "msg": "app_id or app_secret is invalid", "data": None}
        config = self.pushes.client_config
        return {"data": {"URL": self.pushes.ticket(), "ClientConfig": config}}

    def _token(self, body: Any) -> Any:
        if body.get("app_id") != self.app:
            return {"code": 10003, "msg": "invalid param"}
        if body.get("app_secret") != self.secret:
            return {"code": 10014, "msg": "app secret invalid"}
        made = f"t-{uuid4().hex}"
        self._tokens[made] = self.clock.now() + self.token_seconds
        return {"tenant_access_token": made, "expire": int(self.token_seconds)}

    def _authorized(self, headers: Any) -> None:
        kind, _, token = str(headers.get("Authorization") or "").partition(" ")
        if kind != "Bearer" or not token:
            raise ApiError(99991661, "Missing access token for authorization.")
        if self._tokens.get(token, 0.0) < self.clock.now():
            raise ApiError(99991663, "Invalid access token for authorization.")


_SEND = ("im:message", "im:message:send_as_bot")
_READ = ("im:message", "im:message:readonly")
_REACT = ("im:message", "im:message.reactions:write_only")
_CARD = ("cardkit:card:write",)
_ID = "([^/]+)"
_M = "/open-apis/im/v1/messages"
_C = "/open-apis/cardkit/v1/cards"
_ROUTES: list[tuple[str, str, Callable[..., Any], tuple[str, ...]]] = [
    ("GET", "/open-apis/bot/v3/info", Service.bot, ()),
    ("GET", "/open-apis/application/v6/scopes", Service.granted, ()),
    ("GET", "/open-apis/im/v1/chats", Service.chats, ("im:chat:readonly", "im:chat")),
    ("GET", f"/open-apis/im/v1/chats/{_ID}", Service.chat, ("im:chat:readonly", "im:chat")),
    ("POST", _M, Service.create, _SEND),
    ("GET", _M, Service.listed, _READ),
    ("POST", f"{_M}/{_ID}/reply", Service.reply, _SEND),
    ("PUT", f"{_M}/{_ID}", Service.change, _SEND),
    ("PATCH", f"{_M}/{_ID}", Service.patch, _SEND),
    ("DELETE", f"{_M}/{_ID}", Service.delete, _SEND),
    ("GET", f"{_M}/{_ID}", Service.get, _READ),
    ("GET", f"{_M}/{_ID}/resources/{_ID}", Service.resource, _READ),
    ("POST", f"{_M}/{_ID}/reactions", Service.react, _REACT),
    ("DELETE", f"{_M}/{_ID}/reactions/{_ID}", Service.unreact, _REACT),
    ("POST", "/open-apis/im/v1/images", Service.picture, ("im:resource",)),
    ("POST", "/open-apis/im/v1/files", Service.upload, ("im:resource",)),
    ("POST", _C, Service.card_create, _CARD),
    ("PUT", f"{_C}/{_ID}", Service.card_update, _CARD),
    ("PUT", f"{_C}/{_ID}/elements/{_ID}/content", Service.card_content, _CARD),
    ("PATCH", f"{_C}/{_ID}/settings", Service.card_settings, _CARD),
]


def _read(headers: Any, raw: bytes) -> Any:
    """The body: JSON, or the parts of a form as text and ``(bytes, file name)``."""
    if not raw:
        return {}
    kind = str(headers.get("Content-Type") or "")
    if kind.startswith("multipart/form-data"):
        whole = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
        parts: dict[str, Any] = {}
        for part in whole.get_payload():
            name = part.get_param("name", header="content-disposition")  # type: ignore[union-attr]
            data = part.get_payload(decode=True)  # type: ignore[union-attr]
            shown = part.get_filename()  # type: ignore[union-attr]
            parts[str(name)] = data.decode() if shown is None else (data, shown)  # type: ignore
        return parts
    if kind.split(";")[0] != "application/json":
        raise ApiError(9499, f"Bad Request: content type {kind}")
    try:
        return json.loads(raw)
    except ValueError:
        raise ApiError(9499, "Bad Request: invalid character in the body") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, api: OpenApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that were killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _do(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        try:
            status, headers, body = self.server.api.answer(
                self.command, parts.path, query, self.headers, raw
            )
        except TimeoutError:
            threading.Event().wait(60)
            self.close_connection = True
            return
        except ConnectionError:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        for key, value in ({"Content-Type": "application/json; charset=utf-8"} | headers).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _do

    def log_message(self, *_: Any) -> None:
        """Nothing."""
